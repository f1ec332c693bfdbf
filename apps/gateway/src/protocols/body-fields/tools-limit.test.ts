import { chatAdapter } from '../chat/adapter.js';
import { messagesAdapter } from '../messages/adapter.js';
import { responsesAdapter } from '../responses/adapter.js';

const named = (count: number): { name: string }[] => Array.from({ length: count }, (_, index) => ({ name: `tool_${index}` }));
const user = [{ role: 'user', content: 'Hi' }];
const functions = (count: number): object[] => named(count).map(({ name }) => ({ type: 'function', name }));

const FORMS: [form: string, parse: (count: number) => { request: { tools: unknown[] } }][] = [
  [
    'chat',
    (count) =>
      chatAdapter.parseRequest({ model: 'm', messages: user, tools: named(count).map((tool) => ({ type: 'function', function: tool })) }),
  ],
  ['responses', (count) => responsesAdapter.parseRequest({ model: 'm', input: 'Hi', tools: functions(count) })],
  [
    'responses, in a namespace',
    (count) =>
      responsesAdapter.parseRequest({ model: 'm', input: 'Hi', tools: [{ type: 'namespace', name: 'n', tools: functions(count) }] }),
  ],
  [
    'responses, in the input',
    (count) => responsesAdapter.parseRequest({ model: 'm', input: [...user, { type: 'additional_tools', tools: functions(count) }] }),
  ],
  [
    'messages',
    (count) =>
      messagesAdapter.parseRequest({
        model: 'm',
        max_tokens: 1,
        messages: user,
        tools: named(count).map((tool) => ({ ...tool, input_schema: {} })),
      }),
  ],
  [
    'messages, in system turns',
    (count) =>
      messagesAdapter.parseRequest({
        model: 'm',
        max_tokens: 1,
        messages: [
          ...user,
          {
            role: 'system',
            content: named(count).map(({ name }) => ({
              type: 'tool_addition',
              tool: { type: 'tool_definition', definition: { name, input_schema: {} } },
            })),
          },
        ],
      }),
  ],
];

test.each(FORMS)('%s: a request has at most 1,024 tools [limit-tools]', (_form, parse) => {
  expect(parse(1_024).request.tools).toHaveLength(1_024);
  expect(() => parse(1_025)).toThrow(
    expect.objectContaining({ code: 'invalid_request', param: 'tools', message: '`tools` must have at most 1024 entries.' }),
  );
});
