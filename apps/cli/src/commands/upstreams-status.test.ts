import { type RouteStatus, type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { runCli } from '../run-cli.js';

function route(over: Partial<RouteStatus> = {}): RouteStatus {
  return {
    model: 'm',
    upstream: 'a',
    upstreamModel: 'theirs',
    priority: 0,
    weight: 1,
    breaker: 'closed',
    restMs: 0,
    isWell: true,
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

/** Runs a command line on these replicas. They answer so often and no more, which is what ends watching. */
async function run(line: string, replies: RouteStatusReply[], asksMax = 1) {
  const said = { out: '', err: '' };
  let asks = 0;
  const messaging = Object.assign(new FakeMessaging(), {
    requestEvery: async ({ subject }: { subject: string }) => {
      if (++asks > asksMax) throw new Error('that is enough');
      expect(subject).toBe(routeStatus.subject);
      return replies;
    },
  });
  const output = {
    writeOut: (text: string): void => {
      said.out += text;
    },
    writeErr: (text: string): void => {
      said.err += text;
    },
  };
  const code = await runCli(line.split(' '), output, async () => messaging);
  return { code, ...said };
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

test('every route, as an operator wants to read it: what all replicas say, put together', async () => {
  const waiting = [{ model: 'big', requests: 5 }];
  const resting = route({ breaker: 'open', restMs: 2_400, calls: 8, errors: { denied: 8 }, lastFailure: DENIED });
  const replies = [
    reply('two/1', [BUSY, route({ inFlight: 1, calls: 2 })], { waiting }),
    reply('one/1', [resting, { ...BUSY, calls: 0, inFlight: 1, firstContentMs: null }]),
  ];
  expect(await run('upstreams status', replies)).toEqual({
    code: 0,
    err: '',
    out: [
      'MODEL  UPSTREAM  MODEL THERE  REPLICA  STATE                IN FLIGHT  SOCKETS  PRIORITY  WEIGHT  CALLS  ERRORS                 FIRST CONTENT  WHOLE CALL  TOKENS/S',
      'big    b         theirs       all 2    up                   4/8        14/512          0       1   1234  20 refused, 4 timeout  87 ms          2.3 s       42',
      'm      a         theirs       all 2    1 rests 2.4 s, 1 up  1          0/512           0       1     10  8 denied               -              -           -',
      '',
      'm on a is not up on 1 of 2 replicas: 401 invalid_api_key No. (denied, 3.0 s ago)',
      '  It does not serve us: check its key, as the inference-proxy has it, and the credit of its account. To ask it: tollgate upstreams test a',
      '',
      '5 waiting for big at two/1: its routes are full, or have just begun to rest',
      '2 replicas, catalog revision 7',
      '',
    ].join('\n'),
  });
});

test('--replicas: a line for each of them', async () => {
  const { out } = await run('upstreams status --replicas', [reply('two/1', [route()]), reply('one/1', [route()])]);
  expect(out.split('\n').map((line) => line.split(/ {2,}/)[3])).toEqual(['REPLICA', 'one/1', 'two/1', undefined, undefined, undefined]);
});

test.each<[string, Partial<RouteStatus>]>([
  ['up', {}],
  ['rests 400 ms', { breaker: 'open', restMs: 400 }],
  ['due a probe', { breaker: 'open' }],
  ['due a probe', { breaker: 'half-open' }],
  ['probing', { breaker: 'half-open', restMs: 10 }],
  ['health check fails', { isWell: false }],
])('a route is said to be: %s', async (state, over) => {
  expect((await run('upstreams status', [reply('one/1', [route(over)])])).out).toContain(`  ${state}  `);
});

test.each<[string, Partial<RouteStatus>]>([
  ['is the path of its healthCheck right', { isWell: false }],
  ['Another route to it found nobody there', {}],
  ['are its baseUrl, tls and allowPrivateNetwork right', { lastFailure: { ...DENIED, kind: 'unreachable', isOperatorsFault: false } }],
  ['It cannot be called as its entry says', { lastFailure: { ...DENIED, kind: 'unreachable' } }],
  ['It takes connections and closes them without a word', { lastFailure: { ...DENIED, kind: 'unanswered', isOperatorsFault: false } }],
  ['It closes connections that have served before', { lastFailure: { ...DENIED, kind: 'stale', isOperatorsFault: false } }],
  ['check the name of the model there', { lastFailure: { ...DENIED, kind: 'refused' } }],
  ['It answers with errors', { lastFailure: { ...DENIED, kind: 'refused', isOperatorsFault: false } }],
  ['give the route a concurrencyMax', { lastFailure: { ...DENIED, kind: 'refused', code: 'model_capacity' } }],
  ['silent for longer than its timeouts', { lastFailure: { ...DENIED, kind: 'timeout' } }],
  ['no good reply', { lastFailure: { ...DENIED, kind: 'broken' } }],
])('what to do about a route that rests: %s', async (advice, over) => {
  const { out } = await run('upstreams status', [reply('one/1', [route({ breaker: 'open', restMs: 400, ...over })])]);
  expect(out).toContain(advice);
  expect(out).toContain('m: no route is up anywhere; its clients get 503, or 429\n');
});

describe('a route that has rested', () => {
  const due = route({ breaker: 'open', calls: 9, errors: { denied: 1 }, lastFailure: DENIED });
  const advice =
    '  It does not serve us: check its key, as the inference-proxy has it, and the credit of its account. To ask it: tollgate upstreams test a';

  test('is due a probe, and not down: whoever needs it is served, for all that is known', async () => {
    const { out } = await run('upstreams status', [reply('one/1', [due]), reply('two/1', [route()])]);
    expect(out.split('\n').slice(3)).toEqual([
      'm on a is due a probe by the next request that needs it on 1 of 2 replicas: 401 invalid_api_key No. (denied, 3.0 s ago)',
      advice,
      '',
      '2 replicas, catalog revision 7',
      '',
    ]);
  });

  test('on one replica hides from nobody that it still rests on another', async () => {
    const { out } = await run('upstreams status', [reply('one/1', [due]), reply('two/1', [{ ...due, restMs: 400 }])]);
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
    'it serves nobody, before its breaker can know',
    { calls: 2, errors: { denied: 2 }, lastFailure: DENIED },
    [
      'm on a has answered no call well: 401 invalid_api_key No. (denied, 3.0 s ago)',
      '  It does not serve us: check its key, as the inference-proxy has it, and the credit of its account. To ask it: tollgate upstreams test a',
      '',
    ],
  ],
  [
    'it rejects whatever it is sent',
    { calls: 3, errors: { rejected: 2, denied: 1 }, lastFailure: { ...DENIED, kind: 'rejected', code: 'upstream_error', detail: '400' } },
    [
      'm on a has answered no call well: 400 (rejected, 3.0 s ago)',
      '  It does not take what it is sent: it may need other capabilities in its entry. To ask it: tollgate upstreams test a',
      '',
    ],
  ],
  ['it has served somebody', { calls: 3, errors: { denied: 2 }, lastFailure: DENIED }, []],
  [
    'its clients were at fault',
    { calls: 1, errors: { rejected: 1 }, lastFailure: { ...DENIED, kind: 'rejected', code: 'context_length_exceeded' } },
    [],
  ],
])('a route that is up: %s', async (_what, over, lines) => {
  const { out } = await run('upstreams status', [reply('one/1', [route(over)])]);
  expect(out.split('\n').slice(3)).toEqual([...lines, '1 replica, catalog revision 7', '']);
});

test('models whose upstreams are all disabled are told once, and by their name', async () => {
  const replies = [reply('one/1', [], { withoutRoute: ['m', 'n'] }), reply('two/1', [], { withoutRoute: ['m'] })];
  const line = (model: string): string => `${model}: its routes lead to disabled upstreams only; its clients get 503`;
  expect((await run('upstreams status', replies)).out.split('\n').slice(2, 4)).toEqual([line('m'), line('n')]);
  expect((await run('upstreams status --model n', replies)).out.split('\n').slice(2, 4)).toEqual([line('n'), '']);
});

test.each([
  ['--model typo', 'There is no model typo, or it is disabled. See: tollgate models list'],
  ['--upstream typo', 'No model is routed to an upstream typo, or it is disabled. See: tollgate upstreams status'],
  ['--model big --upstream a', 'The model big has no route to the upstream a.'],
  ['--json --model typo', 'There is no model typo, or it is disabled. See: tollgate models list'],
])('an id that leads to nothing is an error and no empty table: %s', async (options, message) => {
  const replies = [reply('one/1', [BUSY, route()], { withoutRoute: ['idle'] }), reply('new/1', [], { catalogRevision: null })];
  expect(await run(`upstreams status ${options}`, replies)).toEqual({ code: 1, out: '', err: `error: ${message}\n` });
});

test.each([
  ['a model whose upstreams are all disabled', '--model idle', reply('one/1', [], { withoutRoute: ['idle'] })],
  ['replicas that have read no catalog yet', '--model m', reply('one/1', [], { catalogRevision: null })],
])('no error: %s', async (_, options, answer) => {
  expect(await run(`upstreams status ${options}`, [answer])).toMatchObject({ code: 0, err: '' });
});

test('replicas that have not read the same catalog are told', async () => {
  const { out } = await run('upstreams status', [reply('one/1', []), reply('two/1', [], { catalogRevision: null })]);
  expect(out).toBe('no routes\n\n2 replicas, catalog revision 7 and none\n');
});

test('--json is what the replicas have said, filtered', async () => {
  const replies = [reply('one/1', [BUSY, route(), route({ upstream: 'c' })])];
  const { out } = await run('upstreams status --json --model m --upstream c', replies);
  expect(JSON.parse(out)).toEqual([reply('one/1', [route({ upstream: 'c' })])]);
});

test('--watch goes on until something ends it', async () => {
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
    err: 'error: unexpected: that is enough\n',
    lines: [[reply('one/1', [])], [reply('one/1', [])]],
  });
});
