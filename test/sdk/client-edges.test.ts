import Anthropic, { BadRequestError as AnthropicBadRequestError } from '@anthropic-ai/sdk';
import PreviousAnthropic from 'anthropic-sdk-0';
import OpenAI from 'openai';
import PreviousOpenAI from 'openai-6';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance } from '#testing/tenant.js';

/** Edges of the formats as users of the official clients meet them, with the retries that the clients make by default. */
const { gatewayUrl } = stack();
/** Requests that the client under test has sent. */
let sent: number;

const administrator = await connectAdministrator(stack());
const { apiKey } = await createTenant(administrator, { requestsPerMinuteMax: 1_000 });
beforeEach(() => {
  sent = 0;
});
afterAll(() => administrator.close());

const counted: typeof fetch = (...request) => {
  sent += 1;
  return fetch(...request);
};
const openai = (over: object = {}) => new OpenAI({ apiKey, baseURL: `${gatewayUrl}/v1`, fetch: counted, ...over });
const anthropic = (over: object = {}) => new Anthropic({ apiKey, baseURL: gatewayUrl, fetch: counted, ...over });

const chat = (text: string) => ({ model: 'sim-fast', messages: [{ role: 'user' as const, content: text }] });
const responses = (text: string) => ({ model: 'sim-fast', input: text });
const messages = (text: string) => ({ ...chat(text), max_tokens: 200 });

const catchFailure = (work: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(work).then(
    () => undefined,
    (error: unknown) => error,
  );

test('a request that the upstream rejects: the reason, one request, nothing billed [T-52, T-53]', async () => {
  const text = '[[sim status=400 message="No field seed at http://10.0.0.1:9/v1."]]';
  const message = expect.stringContaining("The model's server rejected this request: No field seed at …");
  const before = await readBalance(gatewayUrl, apiKey);
  for (const work of [
    () => openai().chat.completions.create(chat(text)),
    () => openai().responses.create(responses(text)),
    () => new PreviousOpenAI({ apiKey, baseURL: `${gatewayUrl}/v1`, fetch: counted }).chat.completions.create(chat(text)),
  ]) {
    sent = 0;
    const error = await catchFailure(work());
    expect([error, sent]).toEqual([expect.objectContaining({ status: 400, code: 'invalid_request', message }), 1]);
  }
  sent = 0;
  const error = await catchFailure(anthropic().messages.create(messages(text)));
  expect(error).toBeInstanceOf(AnthropicBadRequestError);
  expect([error, sent]).toEqual([expect.objectContaining({ status: 400, type: 'invalid_request_error', message }), 1]);
  expect(await readBalance(gatewayUrl, apiKey)).toEqual(before);
});

test.each([
  ['@anthropic-ai/sdk 1.x', () => anthropic()],
  ['@anthropic-ai/sdk 0.x', () => new PreviousAnthropic({ apiKey, baseURL: gatewayUrl })],
] as const)('%s lists and reads the models with every field of its types [T-56]', async (_name, client) => {
  const listed = [];
  for await (const model of client().models.list({ limit: 2 })) listed.push(model);
  const entry = listed.find(({ id }) => id === 'sim-fast');
  expect(entry).toMatchObject({ type: 'model', id: 'sim-fast', display_name: expect.any(String), created_at: expect.any(String) });
  expect(new Date(entry?.created_at ?? '').getTime()).toBeGreaterThan(0);
  expect(await client().models.retrieve('sim-fast')).toMatchObject({ ...entry });
  expect(await catchFailure(client().models.retrieve('none'))).toMatchObject({
    status: 404,
    error: { error: { type: 'not_found_error' } },
  });
});

test('allowed_tools: no other tool is called', async () => {
  const tool = (name: string) => ({ type: 'function' as const, function: { name, parameters: { type: 'object' } } });
  const { choices } = await openai().chat.completions.create({
    ...chat('call beta'),
    tools: [tool('alpha'), tool('beta')],
    tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [{ type: 'function', function: { name: 'alpha' } }] } },
  });
  expect(choices[0]?.message.tool_calls?.map((call) => call.type === 'function' && call.function.name)).toEqual(['alpha']);
});

test('parallel_tool_calls: false reaches the model: one call', async () => {
  const tools = ['alpha', 'beta'].map((name) => ({ type: 'function' as const, function: { name, parameters: { type: 'object' } } }));
  const countCalls = async (parallel_tool_calls: boolean): Promise<number | undefined> => {
    const { choices } = await openai().chat.completions.create({ ...chat('call alpha, call beta'), tools, parallel_tool_calls });
    return choices[0]?.message.tool_calls?.length;
  };
  expect([await countCalls(true), await countCalls(false)]).toEqual([2, 1]);
});

test('an empty key in the environment, which SDK 0.x sends beside its bearer token, is absent', async () => {
  const client = new PreviousAnthropic({ apiKey: '', authToken: apiKey, baseURL: gatewayUrl, defaultHeaders: { 'x-api-key': '' } });
  expect((await client.messages.create(messages('Hello'))).stop_reason).toBe('end_turn');
});

describe('retries that the client makes by itself', () => {
  test('a temporary failure is retried', async () => {
    const text = `Try ${Math.random()} [[sim status=500 times=1]]`;
    expect((await openai().chat.completions.create(chat(text))).choices[0]?.finish_reason).toBe('stop');
    expect(sent).toBe(2);
  });

  test('a hopeless one is not', async () => {
    expect(await catchFailure(openai({ apiKey: 'tg_live_wrong' }).chat.completions.create(chat('x')))).toMatchObject({ status: 401 });
    expect(sent).toBe(1);
  });
});
