import { join } from 'node:path';
import { describeConformance } from '../../../test/conformance/conformance.js';
import { messagesAdapter } from './adapter.js';
import { readStream } from './conformance-client.js';
import { MessagesFields } from './request.dto.js';

const required = ['model', 'max_tokens'];
const handParsed = ['output_config', 'output_format', 'system', 'tools', 'tool_choice', 'stop_sequences', 'thinking', 'thread'];
const ignored = ['top_k', 'metadata', 'cache_control', 'context_management', 'container', 'service_tier'];

describeConformance({
  adapter: messagesAdapter,
  fixtures: join(import.meta.dirname, '__fixtures__'),
  optionalFields: [...Object.keys(new MessagesFields()).filter((field) => !required.includes(field)), ...handParsed, ...ignored],
  readStream,
  continueWith: ({ content }: { content: { type: string; id?: string }[] }) => ({
    messages: [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content },
      {
        role: 'user',
        content: [
          ...content.flatMap(({ id }) => (id === undefined ? [] : [{ type: 'tool_result', tool_use_id: id, content: 'done' }])),
          { type: 'text', text: 'Go on.' },
        ],
      },
    ],
  }),
});
