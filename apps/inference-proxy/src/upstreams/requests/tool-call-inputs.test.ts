import { ToolCallInputs } from './tool-call-inputs.js';

const LONG_NUMBER = '12345678901234567890';

function render(...argumentsTexts: string[]): string[] {
  const inputs = new ToolCallInputs();
  const tool = { name: 'x' };
  return argumentsTexts.map((argumentsText) =>
    JSON.stringify(inputs.render({ type: 'tool-call', callId: 'c', tool, wireName: 'x', kind: 'function', argumentsText })),
  );
}

const makeArray = (items: number, item = '1'): string => `{"a":[${Array(items).fill(item).join()}]}`;
const asText = (argumentsText: string): string => JSON.stringify({ input: argumentsText });

test.each<[string, string, string]>([
  ['an object', '{"a":{"b":[1,null]}}', '{"a":{"b":[1,null]}}'],
  ['the digits of a long number', `{"a":${LONG_NUMBER}}`, `{"a":${LONG_NUMBER}}`],
  ['no text', ' ', '{}'],
  ['a list', '[1]', asText('[1]')],
  ['broken JSON', '{"a":', asText('{"a":')],
  ['as many values as are parsed', makeArray(49_998), makeArray(49_998)],
  ['more values than are parsed', makeArray(50_001), asText(makeArray(50_001))],
  ['more objects than are parsed', makeArray(50_001, '{}'), asText(makeArray(50_001, '{}'))],
  ['deep nesting', `{"a":${'['.repeat(200)}${']'.repeat(200)}}`, asText(`{"a":${'['.repeat(200)}${']'.repeat(200)}}`)],
])('%s', (_title, argumentsText, expected) => {
  expect(render(argumentsText)).toEqual([expected]);
});

test('the calls of a request share its limit of values', () => {
  expect(render(makeArray(30_000), makeArray(30_000))).toEqual([makeArray(30_000), asText(makeArray(30_000))]);
});

test('digits beyond a double are kept up to a limit of values only, since keeping them is slow', () => {
  const [few, many] = render(`{"id":${LONG_NUMBER},"a":[${'1,'.repeat(4_000)}1]}`, `{"id":${LONG_NUMBER},"a":[${'1,'.repeat(4_000)}1]}`);
  expect([few?.includes(LONG_NUMBER), many?.includes(LONG_NUMBER)]).toEqual([true, false]);
});

test('the digits of a long number are kept after many values without one', () => {
  expect(render(makeArray(10_000), `{"id":${LONG_NUMBER}}`)).toEqual([makeArray(10_000), `{"id":${LONG_NUMBER}}`]);
});

test('the digits of a long number are kept in and after arguments that are too long to be searched', () => {
  const long = `{"text":"${'x'.repeat(1024 * 1024)}","id":${LONG_NUMBER}}`;
  expect(render(long, `{"id":${LONG_NUMBER}}`)).toEqual([long, `{"id":${LONG_NUMBER}}`]);
});
