import { once } from 'node:events';
import { answering, TestUpstream } from '../test-upstream.js';
import { HealthCheck } from './health-check.js';
import { testBook } from './test-book.js';

let upstream: TestUpstream;
let checks: HealthCheck[];

beforeEach(async () => {
  checks = [];
  upstream = await TestUpstream.start();
});

afterEach(async () => {
  for (const check of checks) await check.close();
  await upstream.stop();
});

/** By default it asks once, and then as often as the test does. */
function start(healthCheck = { path: '/health', intervalMs: 60_000 }) {
  const ill: string[] = [];
  const check = new HealthCheck({ ...upstream.definition(), healthCheck }, (why) => ill.push(why));
  checks.push(check);
  const states = async (times: number): Promise<boolean[]> => {
    const seen: boolean[] = [];
    for (let time = 0; time < times; time++) {
      const calls = upstream.calls;
      for (; upstream.calls === calls; await check.ask()) await new Promise(setImmediate); // the first is under way
      seen.push(check.isWell);
    }
    return seen;
  };
  return { check, ill, states };
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 1));
}

test('asks the path, without a key, again and again', async () => {
  upstream.behave(answering(200, 'ok'));
  const asked = upstream.nextRequest();
  start({ path: '/health', intervalMs: 5 });
  const { method, url, headers } = await asked;
  expect({ method, url, authorization: headers.authorization }).toEqual({ method: 'GET', url: '/health', authorization: undefined });
  await until(() => upstream.calls > 3);
});

test.each([200, 204, 401, 403])('a %i is well', async (status) => {
  upstream.behave(answering(status, ''));
  const { states, ill } = start();
  expect({ states: await states(3), ill }).toEqual({ states: [true, true, true], ill: [] });
});

test.each([404, 302, 500, 503])('a %i is not, when it comes twice; one good answer is enough', async (status) => {
  upstream.behave(answering(200, ''));
  const { states, ill } = start();
  await states(1);
  upstream.behave(answering(status, ''));
  expect({ states: await states(3), ill }).toEqual({ states: [true, false, false], ill: [`/health answers ${status}`] });
  upstream.behave(answering(200, ''));
  expect(await states(2)).toEqual([true, true]);
});

test('nobody there, or nobody who answers, is not well', async () => {
  upstream.behave(() => {});
  const silent = start({ path: '/', intervalMs: 20 });
  await until(() => !silent.check.isWell);
  expect(silent.ill).toEqual(['/ does not answer within 20 ms']);
  const port = upstream.port;
  await upstream.stop();
  upstream = await TestUpstream.start();
  const gone = { ...upstream.definition(), baseUrl: `http://127.0.0.1:${port}`, healthCheck: { path: '/', intervalMs: 20 } };
  const ill: string[] = [];
  const check = new HealthCheck(gone, (why) => ill.push(why));
  checks.push(check);
  await until(() => !check.isWell);
  expect(ill).toEqual([`/ cannot be asked: connect ECONNREFUSED 127.0.0.1:${port}`]);
});

test('what came instead of a good answer is told by the routes that lead there', async () => {
  upstream.behave(answering(503, ''));
  const definition = { ...upstream.definition(), healthCheck: { path: '/health', intervalMs: 250 } };
  const book = testBook();
  const routes = [{ upstream: definition.id, model: 'theirs', weight: 1, priority: 0 }];
  book.apply({ revision: 1, upstreams: [definition], models: [{ id: 'm', routes }] });
  await until(() => book.status('here').routes[0]?.isWell === false);
  expect(book.status('here').routes).toMatchObject([
    { breaker: 'open', calls: 0, errors: {}, lastFailure: { kind: 'unreachable', detail: 'health check: /health answers 503' } },
  ]);
  await book.close();
});

test('ends with its link', async () => {
  upstream.behave(answering(200, ''));
  const asked = upstream.nextRequest();
  const { check } = start();
  const closed = once((await asked).socket, 'close');
  await check.close();
  await closed;
});
