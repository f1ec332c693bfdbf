import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { keyCreate } from '#contracts/billing/keys.js';
import { ledgerCheck } from '#contracts/billing/ledger.js';
import { LAYOUTS } from '#testing/stack.js';
import { createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { pacedRequest, type Story, tell } from './chaos-client.js';
import { findViolations, readBills } from './check-bill.js';
import { ManyReplicas } from './many-replicas.js';
import { PatroniCluster } from './patroni-cluster.js';

const CLIENTS = 8;
/** Each request has a key of its own, which identifies its bill. */
const KEYS = 1_600;
/** Pause of a client between its requests: some 40 requests a second in all. */
const PAUSE_MS = 150;
/** Traffic before and after each change of the primary. */
const BEFORE_MS = 4_000;
const AFTER_MS = 12_000;
/** Longer than Patroni waits for the primary: the standby is promoted. */
const CUT_OFF_MS = 9_000;
/** Longest time in which requests may get 503. */
const OUTAGE_MAX_MS = 10_000;

describe.each(LAYOUTS)('%s', (layout) => {
  let cluster: PatroniCluster | undefined;
  let system: ManyReplicas;
  let tenant: Tenant;
  const keys: Story['key'][] = [];
  const stories: Story[] = [];
  beforeAll(async () => {
    cluster = await PatroniCluster.start();
    if (!cluster) throw new Error('Debian’s packages patroni and etcd-server are not to be had');
    system = await ManyReplicas.start({ layout, databaseUrl: cluster.url });
    tenant = await createTenant(system.administrator, { usd: '100.00', activeKeysMax: 2 * KEYS });
    while (keys.length < KEYS) {
      const made = Array.from({ length: CLIENTS }, () => system.administrator.request(keyCreate, { projectId: tenant.projectId }));
      for (const { keyId, key } of await Promise.all(made)) keys.push({ keyId, apiKey: key });
    }
  });
  afterAll(async () => {
    await system?.stop();
    await cluster?.stop();
  });

  /** Sends requests of some 0.4 s until `signal` aborts. Resolves when the last one has ended. */
  async function traffic(signal: AbortSignal): Promise<Story[]> {
    const finished: Story[] = [];
    const client = async (index: number): Promise<void> => {
      for (let count = index; !signal.aborted; count++) {
        const key = keys.pop();
        if (!key) throw new Error('there are too few keys');
        const story = pacedRequest(`failover ${key.keyId}`, key, system.gatewayUrl(count), {
          format: 'chat',
          stream: count % 2 === 0,
          tokens: 8,
        });
        finished.push(story);
        await tell(story);
        await delay(PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: CLIENTS }, (_, index) => client(index)));
    return finished;
  }

  /** Changes the primary under load. Returns the outcomes of the requests, and the time from the first to the end of the last refused one. */
  async function underLoad(change: () => Promise<unknown>): Promise<{ outcomes: Record<string, number>; outageMs: number }> {
    const stopping = new AbortController();
    const running = traffic(stopping.signal);
    await delay(BEFORE_MS);
    await change();
    await delay(AFTER_MS);
    stopping.abort();
    const finished = await running;
    stories.push(...finished);
    const outcomes: Record<string, number> = {};
    for (const { outcome } of finished) {
      const kind = outcome.kind === 'refused' ? `refused ${outcome.status}` : outcome.kind;
      outcomes[kind] = (outcomes[kind] ?? 0) + 1;
    }
    const refused = finished.filter(({ outcome }) => outcome.kind !== 'completed');
    const [first, last] = [Math.min(...refused.map(({ beganAt }) => beganAt)), Math.max(...refused.map(({ endedAt }) => endedAt))];
    return { outcomes, outageMs: refused.length > 0 ? Math.round(last - first) : 0 };
  }

  test.each([
    ['switchover', (patroni: PatroniCluster) => patroni.switchOver()],
    ['kill of the primary', (patroni: PatroniCluster) => patroni.killPrimary()],
    [
      'host of the primary cut off, and back',
      async (patroni: PatroniCluster) => {
        const resume = await patroni.freezePrimary();
        setTimeout(resume, CUT_OFF_MS);
      },
    ],
  ])('%s: requests get 503 for less than 10 s, and every bill is exact', async (name, change) => {
    const patroni = cluster as PatroniCluster;
    await patroni.untilSynchronous();
    const { outcomes, outageMs } = await underLoad(() => change(patroni));
    process.stderr.write(`   ${name}: ${JSON.stringify(outcomes)}, 503 for ${outageMs} ms\n`);
    const { completed = 0, 'refused 503': refused = 0, ...others } = outcomes;
    expect({ others, isServed: completed > refused, isShort: outageMs < OUTAGE_MAX_MS }).toEqual({
      others: {},
      isServed: true,
      isShort: true,
    });
    await untilNoHolds(system.administrator, tenant.accountId, 120_000);
    const database = new pg.Client({ connectionString: await patroni.primaryUrl() });
    await database.connect();
    const bills = Map.groupBy(await readBills(database, tenant.accountId), ({ keyId }) => keyId);
    await database.end();
    expect(stories.flatMap((story) => findViolations(story, bills.get(story.key.keyId) ?? [], false))).toEqual([]);
    expect(await system.administrator.request(ledgerCheck, {})).toMatchObject({ violations: [] });
  });
});
