import { setTimeout as delay } from 'node:timers/promises';
import { stringify } from 'yaml';
import { catalogApply } from '#contracts/catalog.js';
import { type RouteStatus, routeStatus } from '#contracts/route-status.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilOffered } from '#testing/tenant.js';
import { SimulatorProcess } from './simulator-process.js';

/** One of three upstreams fails: clients without content do not notice, and the upstream gets its share again soon after it recovers. */
const REQUESTS_PER_SECOND = 25;
const WARM_MS = 500;
const ILL_MS = 2_000;
const RECOVERY_MS = 10_000;
/** Least share of calls that counts as a full share: a third, less the randomness of two seconds. */
const SHARE_MIN = 0.2;
const WINDOW_MS = 2_000;
const HEALTHY = 'ttft=20 rate=200 tokens=6';

let stack: RunningStack;
let administrator: Messaging;
let tenant: Tenant;
let simulators: SimulatorProcess[];

beforeAll(async () => {
  const services = ['gateway', 'inference-proxy', 'billing', 'catalog'] as const;
  [stack, ...simulators] = await Promise.all([
    startPrivateStack({ services: [...services] }),
    ...['a', 'b', 'c'].map(() => SimulatorProcess.start(HEALTHY)),
  ]);
  administrator = await connectAdministrator(stack);
  tenant = await createTenant(administrator, { usd: '1000.00' });
  await administrator.request(catalogApply, { yaml: catalog() });
  await untilOffered(stack.gatewayUrl, tenant.apiKey, ['fleet']);
});

afterAll(async () => {
  await administrator?.close();
  for (const simulator of simulators ?? []) await simulator.kill();
  await stack?.stop();
});

function catalog(): string {
  const timeouts = { connectMs: 500, firstByteMs: 1_000, idleMs: 2_000, totalMs: 10_000 };
  const upstream = (id: string | undefined, index: number) => ({
    ...{ id, kind: 'openai-chat', baseUrl: simulators[index]?.baseUrl, allowPrivateNetwork: true },
  });
  return stringify({
    upstreams: [
      ...simulators.map((_, index) => ({ ...upstream('abc'[index], index), timeouts })),
      // The first upstream again, for a model that must survive a pause of this machine.
      upstream('p', 0),
    ],
    models: ['abc', 'p'].map((upstreams) => ({
      id: upstreams === 'abc' ? 'fleet' : 'alone',
      ownedBy: 'tollgate',
      contextTokens: 100_000,
      maxOutputTokens: 1_000,
      price: { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.1', outputUsdPerMTok: '3' },
      routes: [...upstreams].map((upstream) => ({ upstream, model: 'sim-fast' })),
    })),
  });
}

/** Requests of many clients, each with its own conversation, alternately streamed and plain. */
class Traffic {
  /** Failures before any content. */
  readonly failures: { sentAt: number; what: string }[] = [];
  completed = 0;
  sent = 0;
  private readonly running = new Set<Promise<void>>();
  private readonly timer = setInterval(() => this.send(), 1_000 / REQUESTS_PER_SECOND);

  constructor(private readonly model = 'fleet') {}

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.running);
  }

  private send(): void {
    const index = this.sent++;
    const sentAt = performance.now();
    const request = this.request(index).then(
      (what) => void (what !== undefined && this.failures.push({ sentAt, what })),
      (error: unknown) => void this.failures.push({ sentAt, what: String(error) }),
    );
    this.running.add(request);
    void request.then(() => this.running.delete(request));
  }

  /** Returns the failure before any content, if any. */
  private async request(index: number): Promise<string | undefined> {
    const stream = index % 4 !== 0;
    const response = await fetch(`${stack.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: this.model, stream, messages: [{ role: 'user', content: `Question ${Math.random()} ${index}` }] }),
    });
    const text = await response.text();
    const isWhole = response.status === 200 && (!stream || text.endsWith('data: [DONE]\n\n'));
    const hadContent = response.status === 200 && stream && /"content":"[^"]/.test(text);
    if (isWhole) this.completed++;
    return isWhole || hadContent ? undefined : `${response.status} ${text.slice(0, 300)}`;
  }
}

/** Share of calls of one simulator in some time. */
async function measureShare(index: number, forMs: number): Promise<number> {
  const before = await Promise.all(simulators.map((simulator) => simulator.started()));
  await delay(forMs);
  const after = await Promise.all(simulators.map((simulator) => simulator.started()));
  const calls = after.map((count, at) => count - (before[at] ?? 0));
  return (calls[index] ?? 0) / calls.reduce((sum, count) => sum + count, 0);
}

async function routes(): Promise<RouteStatus[]> {
  const [reply] = await administrator.requestEvery(routeStatus, {});
  return (reply?.routes ?? []).filter(({ model }) => model === 'fleet');
}

/** Waits until circuits that a pause of this machine opened are closed again. */
async function untilClosed(): Promise<void> {
  for (const deadline = performance.now() + RECOVERY_MS; performance.now() < deadline; ) {
    if ((await routes()).every(({ circuit }) => circuit === 'closed')) return;
    const traffic = new Traffic();
    await delay(WARM_MS);
    await traffic.stop();
  }
}

interface Outage {
  begin: (simulator: SimulatorProcess) => Promise<void> | void;
  end: (simulator: SimulatorProcess) => Promise<void> | void;
}

const behaving = (defaults: string): Outage => ({
  begin: (simulator) => simulator.behave(defaults),
  end: (simulator) => simulator.behave(HEALTHY),
});

test.each<[string, Outage]>([
  ['killed', { begin: (simulator) => simulator.kill(), end: (simulator) => simulator.resume(HEALTHY) }],
  ['stopped', { begin: (simulator) => simulator.freeze(), end: (simulator) => simulator.unfreeze() }],
  ['slowed to a tenth', behaving('ttft=200 rate=20 tokens=6')],
  ['answering 500', behaving('status=500')],
  ['answering 429', behaving('status=429 retry-after=1')],
])(
  'one of three upstreams is %s: clients without content do not notice, and it has its share again within ten seconds of its recovery',
  async (_, outage) => {
    const failing = simulators[0] as SimulatorProcess;
    const traffic = new Traffic();
    let share = 0;
    let wellAt = 0;
    let recoveredMs = 0;
    try {
      await delay(WARM_MS);
      await outage.begin(failing);
      await delay(ILL_MS);
      await outage.end(failing);
      wellAt = performance.now();
      while (share < SHARE_MIN && performance.now() - wellAt < RECOVERY_MS) share = await measureShare(0, WINDOW_MS);
      recoveredMs = performance.now() - wellAt;
    } finally {
      await traffic.stop();
    }
    expect(traffic.failures).toEqual([]);
    expect(share).toBeGreaterThanOrEqual(SHARE_MIN);
    // The window may have started in time and ended later.
    expect(recoveredMs).toBeLessThanOrEqual(RECOVERY_MS + WINDOW_MS);
    expect(traffic.completed).toBeGreaterThan(traffic.sent * 0.8);
    await untilClosed();
    expect((await routes()).map(({ upstream, circuit, inFlight }) => ({ upstream, circuit, inFlight }))).toEqual(
      ['a', 'b', 'c'].map((upstream) => ({ upstream, circuit: 'closed', inFlight: 0 })),
    );
  },
);

test('a momentary failure of the only route fails only the calls in progress', async () => {
  const only = simulators[0] as SimulatorProcess;
  const traffic = new Traffic('alone');
  await delay(WARM_MS);
  await only.behave('status=500');
  await delay(300);
  await only.behave('ttft=300 rate=200 tokens=6');
  const wellAt = performance.now();
  await delay(WINDOW_MS);
  await traffic.stop();
  await only.behave(HEALTHY);
  expect(traffic.failures.filter(({ sentAt }) => sentAt >= wellAt)).toEqual([]);
  expect(traffic.completed).toBeGreaterThan(traffic.sent * 0.8);
});
