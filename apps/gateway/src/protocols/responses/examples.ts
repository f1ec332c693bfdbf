import { CITY_SCHEMA, RED_PIXEL, WEATHER } from '../json-schema/example-values.js';
import type { RequestExample } from '../json-schema/json-schema.js';

const WEATHER_TOOL = { type: 'function', ...WEATHER };

/** Example requests. A test sends each of them to a running gateway. */
export const REQUEST_EXAMPLES: Record<string, RequestExample> = {
  plain: {
    summary: 'A question',
    value: { model: 'sim-fast', input: 'Say hello.' },
  },
  streamed: {
    summary: 'Streamed, with reasoning',
    value: { model: 'sim-reason', instructions: 'Be brief.', input: 'Say hello.', stream: true, max_output_tokens: 100 },
  },
  tools: {
    summary: 'A function, a custom tool and a namespace',
    value: {
      model: 'sim-fast',
      input: 'What is the weather in Rome?',
      tools: [
        WEATHER_TOOL,
        { type: 'custom', name: 'shell', description: 'Runs a command.' },
        { type: 'namespace', name: 'agents', tools: [{ type: 'function', name: 'close', parameters: { type: 'object', properties: {} } }] },
      ],
      tool_choice: { type: 'function', name: 'get_weather' },
    },
  },
  'tool-result': {
    summary: "The call answered, for the model's last word",
    value: {
      model: 'sim-fast',
      input: [
        { role: 'user', content: 'What is the weather in Rome?' },
        { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city":"Rome"}' },
        { type: 'function_call_output', call_id: 'call_1', output: '{"celsius":21}' },
      ],
      tools: [WEATHER_TOOL],
      store: false,
    },
  },
  image: {
    summary: 'An image, inline',
    value: {
      model: 'sim-vision',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url: `data:image/png;base64,${RED_PIXEL}` },
          ],
        },
      ],
    },
  },
  'json-schema': {
    summary: 'A reply of a given shape, and metadata that comes back',
    value: {
      model: 'sim-fast',
      input: 'Name a city.',
      text: {
        format: {
          type: 'json_schema',
          name: 'city',
          schema: CITY_SCHEMA,
        },
      },
      metadata: { order: '17' },
    },
  },
};
