import { completionTokens, countTokens, promptTokens } from './usage-rule.js';

test.each([
  ['', 0],
  ['a', 1],
  ['abcd', 1],
  ['abcde', 2],
  ['éé', 1],
  ['🌍', 1],
  ['漢字', 2],
])('a text of n bytes is ⌈n / 4⌉ tokens: %j', (text, tokens) => {
  expect(countTokens(text)).toBe(tokens);
});

test('a prompt counts message texts, earlier calls, tool definitions, the schema and 256 an image', () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } };
  const schema = { type: 'object' };
  expect(
    promptTokens({
      messages: [
        { role: 'system', content: 'abcde' }, // 2
        {
          role: 'user',
          content: [
            { type: 'text', text: 'abc' }, // joined with the next: 6 bytes, 2
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }, // 256
            { type: 'text', text: 'def' },
          ],
        },
        { role: 'assistant', content: null, tool_calls: [{ id: 'x', function: { name: 'weather', arguments: '{"city":1}' } }] }, // 7 + 10 bytes, 5
        { role: 'tool', tool_call_id: 'x', content: 'sunny' }, // 2
      ],
      tools: [{ type: 'function', function: { name: 'weather', description: 'Tells it', parameters } }], // 7 + 8 + 57 bytes, 18
      response_format: { type: 'json_schema', json_schema: { schema } }, // 17 bytes, 5
    }),
  ).toBe(2 + 2 + 256 + 5 + 2 + Math.ceil((7 + 8 + JSON.stringify(parameters).length) / 4) + 5);
});

test('a prompt has at least one token', () => {
  expect(promptTokens({ messages: [{ role: 'user', content: '' }] })).toBe(1);
});

test('a completion counts text, reasoning and each call separately', () => {
  expect(
    completionTokens({
      text: 'abcde',
      reasoning: 'a',
      calls: [
        { name: 'f', arguments: '{}' },
        { name: 'add', arguments: '{"a":1}' },
      ],
    }),
  ).toBe(2 + 1 + 1 + 3);
});
