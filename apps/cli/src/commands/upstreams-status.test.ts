import { type RouteStatus, type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { collectRun } from '../../test/collect-run.js';

function route(over: Partial<RouteStatus> = {}): RouteStatus {
  return {
    model: 'm',
    upstream: 'a',
    upstreamModel: 'theirs',
    priority: 0,
    weight: 1,
    circuit: 'closed',
    cooldownMs: 0,
    isHealthy: true,
    inFlight: 0,
    concurrencyMax: null,
    upstreamInFlight: 0,
    upstreamConnectionsMax: 256,
    calls: 0,
    errors: {},
    durationMs: null,
    firstContentMs: null,
    tokensPerSecond: null,
    lastFailure: null,
    ...over,
  };
}

const BUSY = route({
  model: 'big',
  upstream: 'b',
  inFlight: 3,
  concurrencyMax: 4,
  upstreamInFlight: 7,
  calls: 1_234,
  errors: { timeout: 2, refused: 10 },
  durationMs: 2_345,
  firstContentMs: 87.4,
  tokensPerSecond: 41.7,
});

/** Runs a command line against these replicas. After `asksMax` answers they fail, which ends `--watch`. */
async function run(line: string, replies: RouteStatusReply[], asksMax = 1) {
  let asks = 0;
  const messaging = Object.assign(new FakeMessaging(), {
    requestEvery: async ({ subject }: { subject: string }) => {
      if (++asks > asksMax) throw new Error('no more answers');
      expect(subject).toBe(routeStatus.subject);
      return replies;
    },
  });
  return collectRun(line.split(' '), async () => messaging);
}

const reply = (replica: string, routes: RouteStatus[], over: Partial<RouteStatusReply> = {}): RouteStatusReply => ({
  replica,
  catalogRevision: 7,
  routes,
  waiting: [],
  ...over,
});

const DENIED = {
  kind: 'denied',
  code: 'model_unavailable',
  detail: '401 invalid_api_key No.',
  isOperatorsFault: true,
  agoMs: 3_000,
};

test('shows every route, merged over all replicas', async () => {
  const waiting = [{ model: 'big', requests: 5 }];
  const resting = route({ circuit: 'open', cooldownMs: 2_400, calls: 8, errors: { denied: 8 }, lastFailure: DENIED });
  const replies = [
    reply('two/1', [BUSY, route({ inFlight: 1, calls: 2 })], { waiting }),
    reply('one/1', [resting, { ...BUSY, calls: 0, inFlight: 1, firstContentMs: null }]),
  ];
  expect(await run('upstreams status', replies)).toEqual({
    code: 0,
    err: '',
    out: [
      'MODEL  UPSTREAM  MODEL THERE  REPLICA  STATE               IN FLIGHT  SOCKETS  PRIORITY  WEIGHT  CALLS  ERRORS                 FIRST CONTENT  WHOLE CALL  TOKENS/S',
      'big    b         theirs       all 2    up                  4/8        14/512          0       1   1234  20 refused, 4 timeout  87 ms          2.3 s       42',
      'm      a         theirs       all 2    1 down 2.4 s, 1 up  1          0/512           0       1     10  8 denied               -              -           -',
      '',
      'm on a is not up on 1 of 2 replicas: 401 invalid_api_key No. (denied, 3.0 s ago)',
      '  The upstream refuses the key. Check the key in the inference-proxy, and the credit of its account. To test it: tollgate upstreams test a',
      '',
      '5 requests wait for big on two/1: its routes are full or down',
      '2 replicas, catalog revision 7',
      '',
    ].join('\n'),
  });
});

test('--replicas shows a line for each replica', async () => {
  const { out } = await run('upstreams status --replicas', [reply('two/1', [route()]), reply('one/1', [route()])]);
  expect(out.split('\n').map((line) => line.split(/ {2,}/)[3])).toEqual(['REPLICA', 'one/1', 'two/1', undefined, undefined, undefined]);
});

test.each<[string, Partial<RouteStatus>]>([
  ['up', {}],
  ['down 400 ms', { circuit: 'open', cooldownMs: 400 }],
  ['probing', { circuit: 'open' }],
  ['probing', { circuit: 'half-open' }],
  ['probing', { circuit: 'half-open', cooldownMs: 10 }],
  ['down', { isHealthy: false }],
])('shows the state of a route: %s [money-upstream-state]', async (state, over) => {
  expect((await run('upstreams status', [reply('one/1', [route(over)])])).out).toContain(`  ${state}  `);
});

test.each<[string, Partial<RouteStatus>]>([
  ['the path of its healthCheck', { isHealthy: false }],
  ['Another route to this upstream failed to connect', {}],
  ['and its baseUrl, tls and allowPrivateNetwork', { lastFailure: { ...DENIED, kind: 'unreachable', isOperatorsFault: false } }],
  ['The upstream cannot be called with its catalog entry', { lastFailure: { ...DENIED, kind: 'unreachable' } }],
  ['The upstream closes connections without an answer', { lastFailure: { ...DENIED, kind: 'unanswered', isOperatorsFault: false } }],
  ['The upstream closes open connections', { lastFailure: { ...DENIED, kind: 'stale', isOperatorsFault: false } }],
  ['Check the name of the model there', { lastFailure: { ...DENIED, kind: 'refused' } }],
  ['The upstream answers with errors', { lastFailure: { ...DENIED, kind: 'refused', isOperatorsFault: false } }],
  ['Give the route a concurrencyMax', { lastFailure: { ...DENIED, kind: 'refused', code: 'model_capacity' } }],
  ['exceeds its timeouts', { lastFailure: { ...DENIED, kind: 'timeout' } }],
  ['A plain reply took longer than totalMs', { lastFailure: { ...DENIED, kind: 'slow' } }],
  ['an invalid reply', { lastFailure: { ...DENIED, kind: 'broken' } }],
])('gives advice for a route with an open circuit: %s', async (advice, over) => {
  const { out } = await run('upstreams status', [reply('one/1', [route({ circuit: 'open', cooldownMs: 400, ...over })])]);
  expect(out).toContain(advice);
  expect(out).toContain('m: no route is up on any replica; clients get 503 or 429\n');
});

describe('a route after its cooldown', () => {
  const due = route({ circuit: 'open', calls: 9, errors: { denied: 1 }, lastFailure: DENIED });
  const advice =
    '  The upstream refuses the key. Check the key in the inference-proxy, and the credit of its account. To test it: tollgate upstreams test a';

  test('is due a probe, and not reported as down', async () => {
    const { out } = await run('upstreams status', [reply('one/1', [due]), reply('two/1', [route()])]);
    expect(out.split('\n').slice(3)).toEqual([
      'm on a is probed by the next request on 1 of 2 replicas: 401 invalid_api_key No. (denied, 3.0 s ago)',
      advice,
      '',
      '2 replicas, catalog revision 7',
      '',
    ]);
  });

  test('on one replica does not hide that it is open on another', async () => {
    const { out } = await run('upstreams status', [reply('one/1', [due]), reply('two/1', [{ ...due, cooldownMs: 400 }])]);
    expect(out.split('\n').slice(3)).toEqual([
      'm on a is not up on 1 of 2 replicas: 401 invalid_api_key No. (denied, 3.0 s ago)',
      advice,
      '',
      '2 replicas, catalog revision 7',
      '',
    ]);
  });
});

test.each<[string, Partial<RouteStatus>, string[]]>([
  [
    'it failed every call, too few to open its circuit',
    { calls: 2, errors: { denied: 2 }, lastFailure: DENIED },
    [
      'm on a failed every call: 401 invalid_api_key No. (denied, 3.0 s ago)',
      '  The upstream refuses the key. Check the key in the inference-proxy, and the credit of its account. To test it: tollgate upstreams test a',
      '',
    ],
  ],
  [
    'it rejects every request',
    { calls: 3, errors: { rejected: 2, denied: 1 }, lastFailure: { ...DENIED, kind: 'rejected', code: 'upstream_error', detail: '400' } },
    [
      'm on a failed every call: 400 (rejected, 3.0 s ago)',
      '  The upstream rejects the requests. It may need other capabilities in its entry. To test it: tollgate upstreams test a',
      '',
    ],
  ],
  ['it has served a client', { calls: 3, errors: { denied: 2 }, lastFailure: DENIED }, []],
  [
    'its clients were at fault',
    { calls: 1, errors: { rejected: 1 }, lastFailure: { ...DENIED, kind: 'rejected', code: 'context_length_exceeded' } },
    [],
  ],
])('reports a route that is up: %s', async (_what, over, lines) => {
  const { out } = await run('upstreams status', [reply('one/1', [route(over)])]);
  expect(out.split('\n').slice(3)).toEqual([...lines, '1 replica, catalog revision 7', '']);
});

test('lists models whose upstreams are all disabled, once', async () => {
  const replies = [reply('one/1', [], { withoutRoute: ['m', 'n'] }), reply('two/1', [], { withoutRoute: ['m'] })];
  const line = (model: string): string => `${model}: all its routes lead to disabled upstreams; clients get 503`;
  expect((await run('upstreams status', replies)).out.split('\n').slice(2, 4)).toEqual([line('m'), line('n')]);
  expect((await run('upstreams status --model n', replies)).out.split('\n').slice(2, 4)).toEqual([line('n'), '']);
});

test.each([
  ['--model typo', 'There is no model typo, or it is disabled. See: tollgate models list'],
  ['--upstream typo', 'No model is routed to an upstream typo, or it is disabled. See: tollgate upstreams status'],
  ['--model big --upstream a', 'The model big has no route to the upstream a.'],
])('an unknown id is an error, not an empty table: %s', async (options, message) => {
  const replies = [reply('one/1', [BUSY, route()], { withoutRoute: ['idle'] }), reply('new/1', [], { catalogRevision: null })];
  expect(await run(`upstreams status ${options}`, replies)).toEqual({ code: 1, out: '', err: `error: ${message}\n` });
});

test.each([
  ['a model whose upstreams are all disabled', '--model idle', reply('one/1', [], { withoutRoute: ['idle'] })],
  ['replicas that have read no catalog yet', '--model m', reply('one/1', [], { catalogRevision: null })],
])('is not an error: %s', async (_, options, answer) => {
  expect(await run(`upstreams status ${options}`, [answer])).toMatchObject({ code: 0, err: '' });
});

test('shows every catalog revision in use', async () => {
  const { out } = await run('upstreams status', [reply('one/1', []), reply('two/1', [], { catalogRevision: null })]);
  expect(out).toBe('no routes\n\n2 replicas, catalog revision 7 and none\n');
});

test('--json prints the filtered replies', async () => {
  const replies = [reply('one/1', [BUSY, route(), route({ upstream: 'c' })])];
  const { out } = await run('upstreams status --json --model m --upstream c', replies);
  expect(JSON.parse(out)).toEqual([reply('one/1', [route({ upstream: 'c' })])]);
});

test('--watch repeats until it is stopped', async () => {
  const { code, out, err } = await run('upstreams status --watch --json', [reply('one/1', [])], 2);
  expect({
    code,
    err,
    lines: out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  }).toEqual({
    code: 1,
    err: '{"error":{"code":"unexpected","message":"unexpected error: no more answers"}}\n',
    lines: [[reply('one/1', [])], [reply('one/1', [])]],
  });
});
