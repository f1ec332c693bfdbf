import { join } from 'node:path';
import { describeConformance } from '../../../test/conformance/conformance.js';
import { chatAdapter } from './adapter.js';
import { readStream } from './conformance-client.js';
import { ChatFields } from './request.dto.js';

const handParsed = ['tools', 'tool_choice', 'stop', 'response_format', 'logprobs', 'top_logprobs', 'functions', 'function_call', 'audio'];
const ignored = ['modalities', 'seed', 'presence_penalty', 'frequency_penalty', 'reasoning_effort', 'parallel_tool_calls', 'metadata'];

describeConformance({
  adapter: chatAdapter,
  fixtures: join(import.meta.dirname, '__fixtures__'),
  optionalFields: [...Object.keys(new ChatFields()).filter((field) => field !== 'model'), ...handParsed, ...ignored],
  readStream,
  customTools: true,
  continueWith: ({ choices: [{ message }] }: ChatReply) => ({
    messages: [
      { role: 'user', content: 'Hello' },
      message,
      ...(message.tool_calls ?? []).map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'done' })),
    ],
  }),
});

interface ChatReply {
  choices: [{ message: { tool_calls?: { id: string }[] } }];
}
