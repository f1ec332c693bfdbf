import { keyResolve } from '#contracts/billing/keys.js';
import { balanceGet } from '#contracts/billing/money.js';
import { modelList } from '#contracts/catalog.js';
import { MessagingError } from '#messaging/messaging.js';
import { FakeServices } from '#testing/fake-services.js';
import { type Answer, JSON_TYPE, KEY, readError, startTestGateway, type TestGateway } from '../../../test/test-gateway.js';

let gateway: TestGateway;
let fakes: FakeServices;

const unavailable = (): never => {
  throw new MessagingError('unavailable', 'There is no connection.');
};

beforeEach(() => {
  fakes = new FakeServices();
});
afterEach(() => gateway.close());

test('without NATS the gateway stays ready, and answers 503 with `Retry-After` in the format of the endpoint [H-4]', async () => {
  gateway = await startTestGateway({}, fakes);
  fakes.messaging.connected = false;
  fakes.messaging.answer(keyResolve, unavailable);
  fakes.messaging.answer(balanceGet, unavailable);
  const body = { model: 'test-model', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], input: 'Hi' };
  const ask = (path: string): Promise<Answer> => gateway.ask(path, { headers: { ...KEY, ...JSON_TYPE }, body });
  const answers = [
    await ask('/v1/chat/completions'),
    await ask('/v1/responses'),
    await ask('/v1/messages'),
    await gateway.ask('/v1/balance', { headers: KEY }),
  ];
  expect((await gateway.ask('/readyz')).status).toBe(200);
  expect(answers.map(({ status, headers }) => [status, headers['retry-after']])).toEqual(Array(4).fill([503, '1']));
  expect(answers.map((answer) => readError(answer).type)).toEqual(['api_error', 'api_error', 'overloaded_error', 'api_error']);
});

test('the gateway is not ready before it has received the catalog', async () => {
  fakes.messaging.answer(modelList, unavailable);
  gateway = await startTestGateway({}, fakes);
  const answer = await gateway.ask('/readyz');
  expect([answer.status, answer.headers['retry-after'], readError(answer).code]).toEqual([503, '1', 'model_unavailable']);
  fakes.messaging.answer(modelList, () => ({ revision: 1, models: fakes.models }));
  fakes.messaging.reconnect();
  while ((await gateway.ask('/readyz')).status !== 200);
});
