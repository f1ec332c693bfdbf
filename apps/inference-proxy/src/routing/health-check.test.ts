import { once } from 'node:events';
import { testTable } from '../../test/routing-fixture.js';
import { answering, TestUpstream } from '../../test/test-upstream.js';
import { HealthCheck } from './health-check.js';

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

/** What a check tells. */
function recorded() {
  const told: string[] = [];
  return { told, observer: { isIll: (why: string) => told.push(why), isWellAgain: () => told.push('well again') } };
}

/** By default it asks once, and then as often as the test does. */
function start({ path = '/health', intervalMs = 60_000, isIll = false } = {}) {
  const healthCheck = { path, intervalMs };
  const { told, observer } = recorded();
  const check = new HealthCheck({ ...upstream.definition(), healthCheck }, observer, isIll);
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
  return { check, told, states };
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
  const { states, told } = start();
  expect({ states: await states(3), told }).toEqual({ states: [true, true, true], told: [] });
});

test.each([404, 302, 500, 503])('a %i is not, when it comes twice; one good answer is enough', async (status) => {
  upstream.behave(answering(200, ''));
  const { states, told } = start();
  await states(1);
  upstream.behave(answering(status, ''));
  expect({ states: await states(3), told }).toEqual({ states: [true, false, false], told: [`/health answers ${status}`] });
  upstream.behave(answering(200, ''));
  expect({ states: await states(2), told }).toEqual({ states: [true, true], told: [`/health answers ${status}`, 'well again'] });
});

test('what was ill before stays so until the first good answer', async () => {
  upstream.behave(answering(503, ''));
  const { check, states, told } = start({ isIll: true });
  expect({ isWell: check.isWell, states: await states(2), told }).toEqual({ isWell: false, states: [false, false], told: [] });
  upstream.behave(answering(200, ''));
  expect({ states: await states(1), told }).toEqual({ states: [true], told: ['well again'] });
});

test('once it is closed it tells nothing, not of what it was asking either', async () => {
  upstream.behave((request, response) => (upstream.calls === 1 ? answering(503, '')(request, response) : undefined));
  const { check, told } = start();
  const asked: Promise<void>[] = [];
  for (; upstream.calls < 2; await new Promise(setImmediate)) asked.push(check.ask());
  await check.close();
  await Promise.all(asked);
  expect(told).toEqual([]);
});

test('nobody there, or nobody who answers, is not well', async () => {
  upstream.behave(() => {});
  const silent = start({ path: '/', intervalMs: 20 });
  await until(() => !silent.check.isWell);
  expect(silent.told).toEqual(['/ does not answer within 20 ms']);
  const port = upstream.port;
  await upstream.stop();
  upstream = await TestUpstream.start();
  const gone = { ...upstream.definition(), baseUrl: `http://127.0.0.1:${port}`, healthCheck: { path: '/', intervalMs: 20 } };
  const { told, observer } = recorded();
  const check = new HealthCheck(gone, observer);
  checks.push(check);
  await until(() => !check.isWell);
  expect(told).toEqual([`/ cannot be asked: connect ECONNREFUSED 127.0.0.1:${port}`]);
});

test('what came instead of a good answer is told by the routes that lead there', async () => {
  upstream.behave(answering(503, ''));
  const definition = { ...upstream.definition(), healthCheck: { path: '/health', intervalMs: 250 } };
  const table = testTable();
  const routes = [{ upstream: definition.id, model: 'theirs', weight: 1, priority: 0 }];
  table.apply({ revision: 1, upstreams: [definition], models: [{ id: 'm', routes }] });
  await until(() => table.status('here').routes[0]?.isWell === false);
  expect(table.status('here').routes).toMatchObject([
    { breaker: 'open', calls: 0, errors: {}, lastFailure: { kind: 'unreachable', detail: 'health check: /health answers 503' } },
  ]);
  await table.close();
});

test('ends with its client', async () => {
  upstream.behave(answering(200, ''));
  const asked = upstream.nextRequest();
  const { check } = start();
  const closed = once((await asked).socket, 'close');
  await check.close();
  await closed;
});
