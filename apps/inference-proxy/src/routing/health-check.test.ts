import { once } from 'node:events';
import { answering, TestUpstream } from '../../test/test-upstream.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
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

/** Starts a check that asks once by itself, and then as often as the test does. */
function start({ path = '/health', intervalMs = 60_000, port = upstream.port, headers = (): Record<string, string> => ({}) } = {}) {
  const changes: string[] = [];
  const definition = upstream.definition({ baseUrl: `http://127.0.0.1:${port}/v1` });
  const check = new HealthCheck(definition, headers, { path, intervalMs }, (failure) => changes.push(failure ?? 'healthy'));
  checks.push(check);
  const states = async (times: number): Promise<boolean[]> => {
    const seen: boolean[] = [];
    for (let time = 0; time < times; time++) {
      const calls = upstream.calls;
      for (; upstream.calls === calls; await check.ask()) await new Promise(setImmediate); // the first is under way
      seen.push(check.isHealthy);
    }
    return seen;
  };
  return { check, changes, states };
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

test('sends the headers of the catalog, read anew each time', async () => {
  upstream.behave(answering(200, 'ok'));
  let reads = 0;
  const { states } = start({ headers: () => ({ 'x-route': `a${reads++}` }) });
  await states(2);
  expect(upstream.headers.slice(0, 2).map((headers) => headers['x-route'])).toEqual(['a0', 'a1']);
});

test('a secret for a header that cannot be read is a failure, with its reason', async () => {
  const headers = () => {
    throw new UpstreamFailure('denied', 'model_unavailable', { detail: 'no key in UPSTREAM_KEY_A' });
  };
  const { check, changes } = start({ headers });
  await check.ask();
  await check.ask();
  expect([changes, upstream.calls]).toEqual([['/health cannot be asked: no key in UPSTREAM_KEY_A'], 0]);
});

test.each([200, 204, 401, 403])('a %i is healthy', async (status) => {
  upstream.behave(answering(status, ''));
  const { states, changes } = start();
  expect({ states: await states(3), changes }).toEqual({ states: [true, true, true], changes: [] });
});

test.each([404, 302, 500, 503])('a %i is unhealthy when it comes twice, until the next good answer', async (status) => {
  upstream.behave(answering(200, ''));
  const { states, changes } = start();
  await states(1);
  upstream.behave(answering(status, ''));
  expect({ states: await states(3), changes }).toEqual({ states: [true, false, false], changes: [`/health answers ${status}`] });
  upstream.behave(answering(200, ''));
  expect({ states: await states(2), changes }).toEqual({ states: [true, true], changes: [`/health answers ${status}`, 'healthy'] });
});

test('a closed check reports nothing, not even the answer that it was waiting for', async () => {
  upstream.behave((request, response) => (upstream.calls === 1 ? answering(503, '')(request, response) : undefined));
  const { check, changes } = start();
  const asked: Promise<void>[] = [];
  for (; upstream.calls < 2; await new Promise(setImmediate)) asked.push(check.ask());
  await check.close();
  await Promise.all(asked);
  expect(changes).toEqual([]);
});

test('an upstream that does not answer, or does not listen, is unhealthy', async () => {
  upstream.behave(() => {});
  const silent = start({ path: '/', intervalMs: 20 });
  await until(() => !silent.check.isHealthy);
  expect(silent.changes).toEqual(['/ does not answer within 20 ms']);
  const { port } = upstream;
  await upstream.stop();
  upstream = await TestUpstream.start();
  const gone = start({ path: '/', intervalMs: 20, port });
  await until(() => !gone.check.isHealthy);
  expect(gone.changes).toEqual([`/ cannot be asked: connect ECONNREFUSED 127.0.0.1:${port}`]);
});

test('close closes its socket', async () => {
  upstream.behave(answering(200, ''));
  const asked = upstream.nextRequest();
  const { check } = start();
  const closed = once((await asked).socket, 'close');
  await check.close();
  await closed;
});
