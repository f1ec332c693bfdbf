import type { RequestExample } from '../json-schema.js';

/** A square of one red pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

/** Requests that work as they stand: a test sends each to a running gateway. */
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
      tools: [WEATHER],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    },
  },
  'tool-result': {
    summary: "The call answered, for the model's last word",
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
      tools: [WEATHER],
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
            { type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } },
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
          schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false },
        },
      },
    },
  },
};
