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

test('every route of every replica, as an operator wants to read it', async () => {
  const waiting = [{ model: 'big', requests: 5 }];
  const replies = [reply('two/1', [BUSY, route()], { waiting }), reply('one/1', [route({ breaker: 'open', restMs: 2_400 })])];
  expect(await run('upstreams status', replies)).toEqual({
    code: 0,
    err: '',
    out: [
      'MODEL  UPSTREAM  REPLICA  STATE        IN FLIGHT  SOCKETS  PRIORITY  WEIGHT  CALLS  ERRORS                 FIRST CONTENT  WHOLE CALL  TOKENS/S',
      'big    b         two/1    up           3/4        7/256           0       1   1234  10 refused, 2 timeout  87 ms          2.3 s       42',
      'm      a         one/1    rests 2.4 s  0          0/256           0       1      0  -                      -              -           -',
      'm      a         two/1    up           0          0/256           0       1      0  -                      -              -           -',
      '',
      '5 waiting for big at two/1: all of its routes are full',
      '2 replicas, catalog revision 7',
      '',
    ].join('\n'),
  });
});

test.each<[string, Partial<RouteStatus>]>([
  ['up', {}],
  ['rests 400 ms', { breaker: 'open', restMs: 400 }],
  ['waits for a probe', { breaker: 'open' }],
  ['probing', { breaker: 'half-open', restMs: 10 }],
  ['health check fails', { isWell: false }],
])('a route is said to be: %s', async (state, over) => {
  expect((await run('upstreams status', [reply('one/1', [route(over)])])).out).toContain(`  ${state}  `);
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
