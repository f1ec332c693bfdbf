import { CITY_SCHEMA, RED_PIXEL, WEATHER } from '../json-schema/example-values.js';
import type { RequestExample } from '../json-schema/json-schema.js';

const WEATHER_TOOL = { type: 'function', function: WEATHER };

/** Example requests. A test sends each of them to a running gateway. */
export const REQUEST_EXAMPLES: Record<string, RequestExample> = {
  plain: {
    summary: 'A question',
    value: { model: 'sim-fast', messages: [{ role: 'user', content: 'Say hello.' }] },
  },
  streamed: {
    summary: 'Streamed, with the usage at the end',
    value: {
      model: 'sim-reason',
      messages: [{ role: 'user', content: 'Say hello.' }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 100,
    },
  },
  tools: {
    summary: 'A tool the model must call',
    value: {
      model: 'sim-fast',
      messages: [{ role: 'user', content: 'What is the weather in Rome?' }],
      tools: [WEATHER_TOOL],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    },
  },
  'tool-result': {
    summary: 'A tool result, from which the model writes its answer',
    value: {
      model: 'sim-fast',
      messages: [
        { role: 'user', content: 'What is the weather in Rome?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Rome"}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: '{"celsius":21}' },
      ],
      tools: [WEATHER_TOOL],
    },
  },
  image: {
    summary: 'An image, inline',
    value: {
      model: 'sim-vision',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${RED_PIXEL}` } },
          ],
        },
      ],
    },
  },
  'json-schema': {
    summary: 'A reply of a given shape',
    value: {
      model: 'sim-fast',
      messages: [{ role: 'user', content: 'Name a city.' }],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'city',
          schema: CITY_SCHEMA,
        },
      },
    },
  },
};
