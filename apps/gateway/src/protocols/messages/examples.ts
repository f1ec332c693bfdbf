import { RED_PIXEL, WEATHER } from '../json-schema/example-values.js';
import type { RequestExample } from '../json-schema/json-schema.js';

const WEATHER_TOOL = { name: WEATHER.name, description: WEATHER.description, input_schema: WEATHER.parameters };

/** Example requests. A test sends each of them to a running gateway. */
export const REQUEST_EXAMPLES: Record<string, RequestExample> = {
  plain: {
    summary: 'A question',
    value: { model: 'sim-fast', max_tokens: 100, messages: [{ role: 'user', content: 'Say hello.' }] },
  },
  streamed: {
    summary: 'Streamed, with the thinking shown',
    value: {
      model: 'sim-reason',
      max_tokens: 100,
      system: 'Be brief.',
      messages: [{ role: 'user', content: 'Say hello.' }],
      thinking: { type: 'adaptive' },
      stream: true,
    },
  },
  tools: {
    summary: 'A tool the model must use',
    value: {
      model: 'sim-fast',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'What is the weather in Rome?' }],
      tools: [WEATHER_TOOL],
      tool_choice: { type: 'tool', name: 'get_weather' },
    },
  },
  'tool-result': {
    summary: "The tool's result, for the model's last word",
    value: {
      model: 'sim-fast',
      max_tokens: 100,
      messages: [
        { role: 'user', content: 'What is the weather in Rome?' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Rome' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: '{"celsius":21}' }] },
      ],
      tools: [WEATHER_TOOL],
    },
  },
  image: {
    summary: 'An image, inline',
    value: {
      model: 'sim-vision',
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: RED_PIXEL } },
            { type: 'text', text: 'What is this?' },
          ],
        },
      ],
    },
  },
};

/** The examples reduced to the fields that token counting reads. */
export const COUNT_EXAMPLES: Record<string, RequestExample> = Object.fromEntries(
  Object.entries(REQUEST_EXAMPLES).map(([name, { summary, value }]) => {
    const { model, system, messages, tools } = value;
    return [name, { summary, value: { model, ...(system !== undefined && { system }), messages, ...(tools !== undefined && { tools }) } }];
  }),
);
