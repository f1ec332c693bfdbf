import { join } from 'node:path';
import { describeConformance } from '../../../test/conformance/conformance.js';
import { responsesAdapter } from './adapter.js';
import { readStream } from './conformance-client.js';
import { ResponsesFields } from './request.dto.js';

const handParsed = ['tools', 'tool_choice', 'text', 'metadata', 'previous_response_id', 'conversation', 'prompt', 'background', 'user'];
const ignored = ['store', 'reasoning', 'include', 'prompt_cache_key', 'truncation', 'service_tier', 'safety_identifier', 'stream_options'];

describeConformance({
  adapter: responsesAdapter,
  fixtures: join(import.meta.dirname, '__fixtures__'),
  optionalFields: [...Object.keys(new ResponsesFields()).filter((field) => field !== 'model'), ...handParsed, ...ignored],
  readable: ({ echo, ...parsed }) => ({ ...parsed, echo: JSON.parse(echo) }),
  readStream,
  continueWith: ({ output }: { output: { type: string; call_id?: string }[] }) => ({
    input: [
      { role: 'user', content: 'Hello' },
      ...output,
      ...output.flatMap(({ type, call_id }) => (call_id === undefined ? [] : [{ type: `${type}_output`, call_id, output: 'done' }])),
    ],
  }),
  customTools: true,
  namespaces: true,
});
