import { inspect } from 'node:util';
import type { OauthAuth } from '#contracts/upstream-auth.js';
import type { StreamEvent } from '#inference/stream-event.js';
import type { Logger } from '#observability/logger.js';
import type { Span, Tracer } from '#tracing/tracer.js';
import {
  collect,
  failure,
  reader,
  type Setting,
  STOP,
  setUp,
  startUpstreamBeforeEach,
  stopAfterwards,
  text,
  upstream,
  usage,
} from '../../test/inference-fixture.js';
import { answering, chunk, DONE, streaming, TestUpstream } from '../../test/test-upstream.js';
import { issuing, type TokenBehaviour, TokenEndpoint } from '../../test/token-endpoint.js';
import { streamInference } from './stream-inference.js';

/** Never to be seen in a log, a span, a status or an error. */
const MARKER = 'MARKER-of-a-secret';
const environment = { ...process.env };

let endpoint: TokenEndpoint;
let second: TestUpstream;
/** All that was written to logs and spans. */
let written: string[];

startUpstreamBeforeEach();
beforeEach(async () => {
  endpoint = await TokenEndpoint.start();
  second = await TestUpstream.start(streaming(chunk('saved', 'stop'), DONE));
  stopAfterwards(second);
  written = [];
  process.env.UPSTREAM_KEY_CALLS = MARKER;
  process.env.UPSTREAM_KEY_CALLS_HOSTS = `http://${endpoint.host} http://127.0.0.1:${upstream.port}`;
  upstream.behave(streaming(chunk('first', 'stop'), DONE));
});
afterEach(async () => {
  await endpoint.stop();
  process.env = { ...environment };
});

const note = (...parts: unknown[]): void => void written.push(inspect(parts, { depth: 20 }));
const logger = { info: note, warn: note, error: note, debug: note } as unknown as Logger;
const span: Span = new Proxy({} as Span, {
  get: (_, name) =>
    name === 'isRecording'
      ? true
      : (...parts: unknown[]) => {
          note(name, ...parts);
          return span;
        },
});
const tracer = { startRoot: () => span, close: async () => undefined } as unknown as Tracer;

function start(over: Partial<Setting> = {}, firstByteMs = 5_000) {
  const auth: OauthAuth = { kind: 'oauth', tokenUrl: endpoint.url, clientId: 'us', clientSecret: { env: 'UPSTREAM_KEY_CALLS' } };
  const timeouts = { connectMs: 1_000, firstByteMs, idleMs: 5_000, totalMs: 5_000 };
  const upstreams = [upstream.definition({ auth, timeouts, connectionsMax: 500 }), second.definition({ id: 'second' })];
  return setUp({ upstreams, logger, tracer, ...over });
}

const REPLY: StreamEvent[] = [{ type: 'upstream-start', upstream: 'test' }, text('first'), usage({ outputTokens: 2 }), STOP];
const SAVED: StreamEvent[] = [text('saved'), usage({ outputTokens: 2 }), STOP];

const withoutStart = (events: StreamEvent[]): StreamEvent[] => events.filter(({ type }) => type !== 'upstream-start');

test('200 calls at once need one token, and none fails [credential-shared]', async () => {
  endpoint.behaviour = (request, response) =>
    void setTimeout(() => issuing({ access_token: 'token-1', expires_in: 3_600 })(request, response), 20);
  const { job, dependencies } = start();
  const all = await Promise.all(Array.from({ length: 200 }, () => collect(streamInference(job, reader(), dependencies))));
  expect(all).toEqual(new Array(200).fill(REPLY));
  expect([endpoint.requests.length, upstream.calls, new Set(upstream.headers.map(({ authorization }) => authorization))]).toEqual([
    1,
    200,
    new Set(['Bearer token-1']),
  ]);
});

test('200 calls whose token the upstream rejects need one other, and none fails [credential-shared]', async () => {
  endpoint.behaviour = (request, response) =>
    issuing({ access_token: `token-${endpoint.requests.length}`, expires_in: 3_600 })(request, response);
  const { stream, job, dependencies } = start();
  await collect(stream);
  upstream.behave((request, response) =>
    (request.headers.authorization === 'Bearer token-2' ? streaming(chunk('first', 'stop'), DONE) : answering(401, ''))(request, response),
  );
  const all = await Promise.all(Array.from({ length: 200 }, () => collect(streamInference(job, reader(), dependencies))));
  expect(all).toEqual(new Array(200).fill(REPLY));
  expect(endpoint.requests).toHaveLength(2);
});

test('an upstream that rejects every token is asked for one other, and is then as one with a wrong key', async () => {
  upstream.behave(answering(401, ''));
  const { stream, job, dependencies, table } = start();
  expect(withoutStart(await collect(stream))).toEqual(SAVED);
  expect(withoutStart(await collect(streamInference(job, reader(), dependencies)))).toEqual(SAVED);
  expect([endpoint.requests.length, table.status('r').routes[0]?.errors]).toEqual([2, { denied: 2 }]);
});

const EXPIRED = { error: 'invalid_client', error_description: `AADSTS7000222: The provided client secret keys are expired.` };
/** JSON that `String` throws for. */
const NO_TEXT = { toString: 1, valueOf: 1 };
const echoes: TokenBehaviour = (request, response) => {
  const error_description = `wrong: ${MARKER} ${encodeURIComponent(MARKER)} ${request.headers.authorization} ${MARKER}`;
  issuing({ error: MARKER, error_description }, 401)(request, response);
};

describe.each<[what: string, behaviour: TokenBehaviour, line: string]>([
  [
    'with an expired secret',
    issuing(EXPIRED, 401),
    'refuses (401 invalid_client): AADSTS7000222: The provided client secret keys are expired.',
  ],
  ['with a revoked grant', issuing({ error: 'unauthorized_client' }, 400), 'refuses (400 unauthorized_client)'],
  ['that repeats the secret', echoes, 'refuses (401 …): wrong: … … Basic … …'],
  [
    'whose clock is ahead',
    (request, response) =>
      issuing({ error: 'invalid_grant' }, 400, { date: new Date(Date.now() + 600_500).toUTCString() })(request, response),
    'refuses (400 invalid_grant). Its clock is 600 s ahead of ours: set the clock here',
  ],
  ['that issues an ended token', issuing({ access_token: 'a', expires_in: 0 }), 'issues a token that has ended already'],
  ['that issues a short one', issuing({ access_token: 'a', expires_in: 5 }), 'issues a token that ends within 10 s'],
  ['that answers with a page', issuing('<html>sign in</html>'), 'answers with something else than a JSON object'],
  ['that answers with a list', issuing('[]'), 'answers with something else than a JSON object'],
  ['without a token', issuing({}), 'issues no token that a header can carry'],
  ['with a header in its token', issuing({ access_token: 'a\r\nx-admin: 1' }), 'issues no token that a header can carry'],
  ['with another kind of token', issuing({ access_token: 'a', token_type: 'mac' }), 'issues no bearer token'],
  ['with a kind of token that has no text', issuing({ access_token: 'a', token_type: NO_TEXT }), 'issues no bearer token'],
  ['with a time that has no text', issuing({ accessToken: 'a', expireTime: NO_TEXT }), 'names an end of the token that is no time'],
  ['with a time that is none', issuing({ access_token: 'a', expires_in: 'soon' }), 'names an end of the token that is no time'],
  ['that redirects', issuing('', 302, { location: 'http://169.254.169.254/' }), 'redirects (302), which is not followed'],
  ['that answers without end', (_, response) => void response.end(Buffer.alloc(1_000_000)), 'answers with more than 65536 bytes'],
  ['that is down', issuing('', 503), 'refuses (503)'],
  ['that closes', (request) => void request.socket.destroy(), 'cannot be reached (UND_ERR_SOCKET)'],
  ['that never answers', () => {}, 'has not answered within 200 ms'],
])('an endpoint %s', (_what, behaviour, line) => {
  test('is one clear line; another route serves, the circuit stays closed and nothing is counted or told [credential-lost]', async () => {
    endpoint.behaviour = behaviour;
    const { stream, job, dependencies, table } = start({}, 200);
    const replies = [await collect(stream)];
    for (let call = 0; call < 9; call += 1) replies.push(await collect(streamInference(job, reader(), dependencies)));
    expect(replies.map(withoutStart)).toEqual(new Array(10).fill(SAVED));
    const [route] = table.status('r').routes;
    expect([upstream.calls, second.calls]).toEqual([0, 10]);
    expect(route).toMatchObject({
      ...{ upstream: 'test', circuit: 'closed', calls: 0, errors: {}, durationMs: null, inFlight: 0, upstreamInFlight: 0 },
      lastFailure: { kind: 'credential', code: 'model_unavailable', detail: `oauth of test: ${endpoint.host} ${line}` },
    });
    const shown = JSON.stringify([written, table.status('r'), replies]);
    for (const form of [MARKER, Buffer.from(`us:${MARKER}`).toString('base64'), Buffer.from(MARKER).toString('base64').slice(0, 20)])
      expect(shown).not.toContain(form);
    expect(written.filter((entry) => entry.includes('no new credential for upstream'))).toHaveLength(1);
  });
});

test('without another route the client is told to retry, but not why [credential-lost]', async () => {
  endpoint.behaviour = issuing(EXPIRED, 401);
  let onRecovery = (): void => {};
  const recovered = new Promise<void>((resolve) => {
    onRecovery = resolve;
  });
  const info = (_fields: unknown, message: string): void => void (message === 'upstream has a credential again' && onRecovery());
  const { stream, job, dependencies } = start({ routes: [{ upstream: 'test' }], logger: { ...logger, info } as Logger });
  expect(await collect(stream)).toEqual([REPLY[0], failure('model_unavailable', 1)]);
  endpoint.behaviour = issuing({ access_token: 'token-1', expires_in: 3_600 });
  await recovered;
  expect(await collect(streamInference(job, reader(), dependencies))).toEqual(REPLY);
});

test('a token that was revoked is not used again while there is no other', async () => {
  const { stream, job, dependencies, table } = start();
  await collect(stream);
  upstream.behave(answering(401, ''));
  endpoint.behaviour = issuing({ error: 'invalid_client' }, 401);
  for (let call = 0; call < 3; call += 1) expect(withoutStart(await collect(streamInference(job, reader(), dependencies)))).toEqual(SAVED);
  expect([upstream.calls, table.status('r').routes[0]?.circuit, table.status('r').routes[0]?.errors]).toEqual([2, 'closed', {}]);
});

test('a client that leaves while it waits for a token does not end the request of the others', async () => {
  const asked = new Promise<() => void>((resolve) => {
    endpoint.behaviour = (request, response) => resolve(() => issuing({ access_token: 'token-1', expires_in: 3_600 })(request, response));
  });
  const { stream, client, job, dependencies } = start();
  const [left, other] = [collect(stream, 'open'), collect(streamInference(job, reader(), dependencies))];
  const answer = await asked;
  client.abort();
  await left;
  answer();
  expect(await other).toEqual(REPLY);
  expect(endpoint.requests).toHaveLength(1);
});

test('fields of the catalog are added to the body, and one that is null is taken out', async () => {
  const added = { anthropic_version: 'vertex-2023-10-16', guardrailConfig: { guardrailVersion: '1' } };
  const body = { ...added, model: null };
  const { stream } = setUp({ upstreams: [upstream.definition({ body })] });
  await collect(stream);
  expect(upstream.bodies[0]).toMatchObject({ ...added, stream: true });
  expect(upstream.bodies[0]).not.toHaveProperty('model');
});
