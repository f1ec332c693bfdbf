import { digestApiKey } from '#contracts/api-key.js';
import { keyResolve } from '#contracts/billing/keys.js';
import { ServiceError } from '#contracts/service-error.js';
import { TEST_CALLER, TEST_KEY, testKey } from '#testing/fake-services.js';
import { type Answer, type Ask, JSON_TYPE, KEY, readError, startTestGateway, type TestGateway, until } from '../../../test/test-gateway.js';

let gateway: TestGateway;

afterEach(() => gateway.close());

const withKey = (number: number) => ({ headers: { authorization: `Bearer ${testKey(number)}` } });
const MODELS = '/v1/models';
const COUNT = '/v1/messages/count_tokens';
const COUNT_BODY = { model: 'test-model', messages: [{ role: 'user', content: 'Hi' }] };

describe('free endpoints', () => {
  beforeEach(async () => {
    gateway = await startTestGateway({ freeRequestsPerSecond: 1 });
    for (let number = 0; number < 5; number++) expect((await gateway.ask(MODELS, { headers: KEY })).status).toBe(200);
  });

  test('a key beyond its rate gets 429 with `Retry-After` in the format of the endpoint [error-rate-limit, limit-free-rate, H-4]', async () => {
    // Twenty at once exceed the rate however slow the machine is.
    const refusal = async (path: string, asked: Ask): Promise<Answer> => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.ask(path, asked)));
      return answers.find(({ status }) => status !== 200) as Answer;
    };
    const general = await refusal(MODELS, { headers: KEY });
    const messages = await refusal(COUNT, { headers: { ...KEY, ...JSON_TYPE }, body: COUNT_BODY });
    expect([general.status, general.headers['retry-after'], readError(general)]).toEqual([
      429,
      '1',
      { message: 'Too many requests. Please try again in 1s.', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' },
    ]);
    expect([messages.status, messages.headers['retry-after'], JSON.parse(messages.text)]).toMatchObject([
      429,
      '1',
      { type: 'error', error: { type: 'rate_limit_error' } },
    ]);
  });

  test('have a rate that does not apply to paid requests [limit-free-rate]', async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => gateway.chat()));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  });
});

describe('requests without a valid key', () => {
  /** Digests that were looked up. */
  let asked: string[];
  /** Answers to wrong keys wait for this promise. */
  let refusing: Promise<void>;

  beforeEach(async () => {
    gateway = await startTestGateway({ unkeyedRequestsPerSecond: 1, trustedProxyHops: 1 });
    asked = [];
    refusing = Promise.resolve();
    gateway.fakes.messaging.answer(keyResolve, async ({ keyDigest }) => {
      asked.push(keyDigest);
      if (keyDigest === digestApiKey(TEST_KEY)) return TEST_CALLER;
      await refusing;
      throw new ServiceError('invalid_api_key', 'no such key');
    });
  });

  /** Records answers by name in order of arrival. */
  function race() {
    const order: string[] = [];
    const add = (name: string, answer: Promise<Answer>): Promise<number> =>
      answer.then(({ status }) => {
        order.push(`${name}: ${status}`);
        return status;
      });
    return { order, add };
  }

  test('beyond the rate of their address are refused after a delay; requests with a valid key are not delayed [limit-unkeyed-rate]', async () => {
    for (let number = 1; number <= 5; number++) await gateway.ask(MODELS, withKey(number));
    const { order, add } = race();
    const late = [add('wrong key', gateway.ask(MODELS, withKey(6))), add('no path', gateway.ask('/nothing'))];
    await add('valid key', gateway.chat());
    await add('other address', gateway.ask(MODELS, { headers: { ...withKey(7).headers, 'x-forwarded-for': '1.2.3.4' } }));
    expect(order).toEqual(['valid key: 200', 'other address: 401']);
    expect(await Promise.all(late)).toEqual([401, 404]);
  });

  test('and without a known address share one rate, apart from every address [sec-forwarded-address]', async () => {
    for (let number = 1; number <= 5; number++) await gateway.ask(MODELS, withKey(number));
    const { order, add } = race();
    const forwarded = (number: number, entry: string) => ({ headers: { ...withKey(number).headers, 'x-forwarded-for': entry } });
    const late = [
      add('no header', gateway.ask(MODELS, withKey(6))),
      add('a word', gateway.ask(MODELS, forwarded(7, 'client'))),
      add('another word', gateway.ask(MODELS, forwarded(8, '1.2.3.4, client-2'))),
    ];
    await add("the proxy's own address", gateway.ask(MODELS, forwarded(9, '127.0.0.1')));
    expect(order).toEqual(["the proxy's own address: 401"]);
    expect(await Promise.all(late)).toEqual([401, 401, 401]);
  });

  test('with a valid key from a forbidden network are limited as those with an unknown key [sec-forbidden-network]', async () => {
    gateway.fakes.messaging.answer(keyResolve, () => ({ ...TEST_CALLER, networks: ['10.0.0.0/8'] }));
    const from = (address: string) => gateway.ask(MODELS, { headers: { ...KEY, 'x-forwarded-for': address } });
    for (let number = 1; number <= 5; number++) expect((await from('1.2.3.4')).status).toBe(401);
    const { order, add } = race();
    const late = add('forbidden network', from('1.2.3.4'));
    await add('allowed network', from('10.1.2.3'));
    await add('other address', from('5.6.7.8'));
    expect(order).toEqual(['allowed network: 200', 'other address: 401']);
    expect(await late).toBe(401);
  });

  test('with many wrong keys cause few concurrent look-ups, and a valid key is still resolved [limit-key-lookups]', async () => {
    for (let number = 1; number <= 5; number++) await gateway.ask(MODELS, withKey(number));
    let refuse: () => void = () => undefined;
    refusing = new Promise((resolve) => {
      refuse = resolve;
    });
    const flood = Array.from({ length: 100 }, (_, number) => gateway.ask(MODELS, withKey(100 + number)));
    await until(() => asked.length >= 5 + 16);
    const valid = gateway.chat();
    await gateway.ask('/livez');
    const underWay = asked.length - 5;
    refuse();
    expect([underWay, (await valid).status]).toEqual([16, 200]);
    expect((await Promise.all(flood)).map(({ status }) => status)).toEqual(Array(100).fill(401));
  });

  test('for the OpenAPI document are refused beyond the rate', async () => {
    const answers: number[] = [];
    for (let number = 0; number < 5; number++) answers.push((await gateway.ask('/openapi.json')).status);
    const refused = await gateway.ask('/openapi.json');
    expect([answers, refused.status, refused.headers['retry-after']]).toEqual([Array(5).fill(200), 429, '1']);
  });

  test('that are probes are answered at any rate, without a log line or metric [limit-unkeyed-rate]', async () => {
    for (let number = 0; number < 50; number++) expect((await gateway.ask('/livez')).status).toBe(200);
    const counted = await gateway.registry.getSingleMetric('tollgate_gateway_requests_total')?.get();
    expect([gateway.logged.filter(({ msg }) => msg === 'request'), counted?.values.filter(({ value }) => value > 0)]).toEqual([[], []]);
  });
});
