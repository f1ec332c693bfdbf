import OpenAI, { BadRequestError, InternalServerError, NotFoundError } from 'openai';
import type { Response, ResponseInputItem, ResponseStreamEvent, Tool } from 'openai/resources/responses/responses';
import type { Messaging } from '#messaging/messaging.js';
import { PIXEL } from '#testing/pixel.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant } from '#testing/tenant.js';

const { gatewayUrl } = stack();
let administrator: Messaging;
let tenant: Tenant;
let client: OpenAI;

beforeAll(async () => {
  administrator = await connectAdministrator(stack());
  tenant = await createTenant(administrator);
  client = new OpenAI({ apiKey: tenant.apiKey, baseURL: `${gatewayUrl}/v1`, maxRetries: 0 });
});
afterAll(() => administrator?.close());

function ask(input: string | ResponseInputItem[], over: object = {}) {
  return { model: 'sim-fast', input, ...over };
}

/** The parts of a reply that are the same for every reply to a request. */
function readSaying({ output, status, usage }: Response) {
  const items = output.map((item) => ({ ...item, id: undefined, call_id: 'call_id' in item ? 'x' : undefined }));
  return { items, status, usage };
}

test('plain, streamed and with the helper: the same reply and usage', async () => {
  const request = ask('Think about it', { model: 'sim-reason' });
  const plain = await client.responses.create(request);
  expect(plain.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
  expect(plain.output_text).toMatch(/./);
  const streamed = await client.responses.stream(request).finalResponse();
  expect(streamed.output_text).toBe(plain.output_text);
  expect(streamed.usage).toEqual(plain.usage);
  let last: ResponseStreamEvent | undefined;
  for await (const event of await client.responses.create({ ...request, stream: true })) last = event;
  expect(last).toMatchObject({ type: 'response.completed', response: { usage: plain.usage } });
  if (last?.type === 'response.completed') expect(readSaying(last.response)).toEqual(readSaying(plain));
});

const weather: Tool = {
  type: 'function',
  name: 'get_weather',
  strict: true,
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
};
const tools: Tool[] = [
  weather,
  { type: 'namespace', name: 'agents', description: 'Agents.', tools: [{ ...weather, name: 'close_agent' }] },
  { type: 'custom', name: 'shell', description: 'Runs a command.', format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' } },
  { type: 'web_search' },
];

test('calls of three kinds, interleaved by the upstream, come back whole and are answered [D9, R-1i, T-5, T-6, T-22]', async () => {
  const text = 'call get_weather {"city": "Rome"}, call close_agent {"city": "Oslo"}, call shell {"input": "date\\nls"} [[sim interleave]]';
  const input: ResponseInputItem[] = [{ role: 'user', content: text }];
  const first = await client.responses.stream({ model: 'sim-fast', input, tools }).finalResponse();
  expect(first.output).toMatchObject([
    { type: 'function_call', name: 'get_weather', arguments: '{"city": "Rome"}', parsed_arguments: { city: 'Rome' }, status: 'completed' },
    { type: 'function_call', name: 'close_agent', namespace: 'agents', parsed_arguments: { city: 'Oslo' } },
    { type: 'custom_tool_call', name: 'shell', input: 'date\nls' },
  ]);
  const outputs = first.output.map((item, index) => {
    const callId = 'call_id' in item ? item.call_id : '';
    return item.type === 'custom_tool_call'
      ? { type: 'custom_tool_call_output' as const, call_id: callId, output: `result ${index}` }
      : { type: 'function_call_output' as const, call_id: callId, output: [{ type: 'input_text' as const, text: `result ${index}` }] };
  });
  const history = [...input, ...(first.output as ResponseInputItem[]), ...outputs] as ResponseInputItem[];
  const second = await client.responses.create(ask(history, { tools }));
  expect(second.output_text).toBe('The result is: result 0 | result 1 | result 2.');
});

test('a forced custom tool gives its one text [responses-custom-call, responses-custom-tools, R-1i]', async () => {
  const response = await client.responses.create(ask('anything', { tools, tool_choice: { type: 'custom', name: 'shell' } }));
  expect(response.output).toMatchObject([{ type: 'custom_tool_call', name: 'shell', input: expect.any(String) }]);
});

test('JSON schema [responses-text]', async () => {
  const schema = { type: 'object', properties: { answer: { type: 'integer' } }, required: ['answer'], additionalProperties: false };
  const text = { format: { type: 'json_schema' as const, name: 'answer', strict: true, schema } };
  const response = await client.responses.parse(ask('some json', { text }));
  expect(response.output_parsed).toEqual({ answer: expect.any(Number) });
});

const pixel = `data:image/png;base64,${PIXEL}`;

test('images reach a vision model, and are refused for other models [responses-image-parts]', async () => {
  const input: ResponseInputItem[] = [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'what?' },
        { type: 'input_image', image_url: pixel, detail: 'auto' },
      ],
    },
  ];
  expect((await client.responses.create(ask(input, { model: 'sim-vision' }))).output_text).toMatch(/^I see 1 image: image\/png/);
  await expect(client.responses.create(ask(input))).rejects.toMatchObject({ status: 400, code: 'unsupported_content' });
});

test('output at the limit is incomplete, and so is its last item [responses-incomplete, responses-max-output-tokens, R-13, T-19]', async () => {
  const text = await client.responses.create(ask('Hello [[sim tokens=50]]', { max_output_tokens: 7 }));
  expect(text).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, usage: { output_tokens: 7 } });
  const call = await client.responses
    .stream(ask('call get_weather {"city": "Llanfairpwllgwyngyllgogerychwyrndrobwll"}', { tools, max_output_tokens: 3 }))
    .finalResponse();
  expect(call).toMatchObject({ status: 'incomplete', output: [{ type: 'function_call', status: 'incomplete' }] });
});

test('a broken upstream ends the stream with a failed response [R-11]', async () => {
  const events: ResponseStreamEvent[] = [];
  for await (const event of await client.responses.create({ ...ask('Hello [[sim tokens=50 cut=20]]'), stream: true })) events.push(event);
  expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed', error: { code: 'upstream_error' } } });
  expect(events.filter(({ type }) => type === 'response.output_item.done')).toHaveLength(1);
});

test('a finished request costs its usage and leaves no hold [one-billing, responses-usage-billed]', async () => {
  const before = await readBalance(gatewayUrl, tenant.apiKey);
  const { usage } = await client.responses.create(ask('Hello [[sim tokens=50]]'));
  const after = await readBalance(gatewayUrl, tenant.apiKey);
  const cost = BigInt(usage?.input_tokens ?? 0) * 150_000n + BigInt(usage?.output_tokens ?? 0) * 600_000n;
  expect(BigInt(before.balance_pico_usd) - BigInt(after.balance_pico_usd)).toBe(cost);
  expect(after.reserved_pico_usd).toBe('0');
});

test.each([
  ['a bad field', ask('x', { temperature: 9 }), BadRequestError, { status: 400, code: 'invalid_request', param: 'temperature' }],
  [
    'stored state [responses-stored-state, error-unsupported-parameter]',
    ask('x', { previous_response_id: 'resp_1' }),
    BadRequestError,
    { status: 400, code: 'unsupported_parameter', param: 'previous_response_id' },
  ],
  ['an unknown model', ask('x', { model: 'gpt-5' }), NotFoundError, { status: 404, code: 'model_not_found', param: 'model' }],
  [
    'a broken upstream, streamed',
    ask('[[sim status=500]]', { stream: true }),
    InternalServerError,
    { status: 502, code: 'upstream_error' },
  ],
])('errors have the class of their status: %s', async (_name, request, errorClass, fields) => {
  const error = await client.responses.create(request as OpenAI.Responses.ResponseCreateParams).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(errorClass);
  expect(error).toMatchObject({ ...fields, requestID: expect.stringMatching(/^req_/) });
});
