import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { LAYOUTS, type Layout, type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';
import type { Replica, RunningReplicas } from '../../scripts/local/replicas.ts';
import { latencies } from '../chaos/latencies.js';
import { PanelReader } from '../chaos/panel-reader.js';
import { SteadyTraffic } from '../chaos/steady-traffic.js';

/** Two replicas of each service, or of all in one process, 100 requests a second in all formats, and replicas that end in turn. No request and no read of the panel may fail. */
const MINUTES = 5;
const PER_SECOND = 100;
const SERVICES = { split: ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'], all: ['tollgate'] } as const;
/** Checkout of the version before, installed and built. */
const PREVIOUS = process.env.TEST_PREVIOUS_CHECKOUT;

let stack: RunningStack;
let replicas: RunningReplicas;
let tenant: Tenant;
let traffic: SteadyTraffic;
let reader: PanelReader;

afterEach(async () => {
  await Promise.all([traffic?.stop(), reader?.stop()]);
  await replicas?.stop();
  await stack?.stop();
});

async function start(layout: Layout, root?: string): Promise<void> {
  stack = await startPrivateStack({ services: ['upstream-sim'], ownPostgres: true });
  const { startReplicas } = await import('../../scripts/local/replicas.ts');
  const env = { CATALOG_FILE: roomyCatalog(dirname(stack.logDir), root) };
  const pair = (service: Replica['service']): Replica[] => [1, 2].map((number) => ({ name: `${service}-${number}`, service, root, env }));
  replicas = await startReplicas(stack, SERVICES[layout].flatMap(pair));
  const administrator = await connectAdministrator(stack);
  tenant = await createTenant(administrator, { usd: '1000.00' });
  reader = await PanelReader.start(administrator, replicas.panelUrls);
  await administrator.close();
  traffic = new SteadyTraffic(replicas.gatewayUrls, tenant, { perSecond: PER_SECOND });
}

/**
 * Returns the demo catalog with more connections to its upstream: one account sends everything, and what piles up while a busy machine stalls
 * is more than its share of the default.
 */
function roomyCatalog(directory: string, root = '.'): string {
  const file = join(directory, 'catalog.yaml');
  const demo = readFileSync(join(root, 'config/catalog.yaml'), 'utf8');
  writeFileSync(file, demo.replace('kind: openai-chat', 'kind: openai-chat\n    connectionsMax: 4096'));
  return file;
}

/** Replaces both replicas of each service, one after the other, by the program of the checkout `root`. */
async function replaceAll(services: readonly string[], root?: string): Promise<void> {
  for (const name of services.flatMap((service) => [`${service}-1`, `${service}-2`])) {
    await traffic.without(name, () => reader.without(name, () => replicas.replace(name, root)));
  }
}

/** Ends the traffic, and checks that every request was completed and no hold is left. */
async function expectNoFailure(replaced: number): Promise<void> {
  const [stories, { reads, failures: failedReads }] = await Promise.all([traffic.stop(), reader.stop()]);
  const failures = stories.filter(({ outcome }) => outcome.kind !== 'completed');
  expect(failures.map(({ name, outcome }) => ({ name, outcome }))).toEqual([]);
  expect(failedReads).toEqual([]);
  expect(stories.length).toBeGreaterThan(1_000);
  const administrator = await connectAdministrator(stack);
  await untilNoHolds(administrator, tenant.accountId, 10_000);
  await administrator.close();
  const counts = `${stories.length} requests, ${reads} reads of the panel, ${replaced} replicas replaced`;
  console.info(`${counts}; added ms: ${JSON.stringify(latencies(stories))}`);
}

test.each(LAYOUTS)(
  '%s: replicas of every service are replaced in turn for five minutes at 100 requests a second, and no request fails',
  async (layout) => {
    await start(layout);
    const services = SERVICES[layout];
    let replaced = 0;
    for (const until = performance.now() + MINUTES * 60_000; performance.now() < until; replaced += 2 * services.length)
      await replaceAll(services);
    await expectNoFailure(replaced);
  },
);

// Needs a checkout of the version before in TEST_PREVIOUS_CHECKOUT, installed and built.
(PREVIOUS ? describe : describe.skip)('beside the version before', () => {
  const previous = resolve(PREVIOUS ?? '.');

  test.each([
    ['gateway first', SERVICES.split],
    ['gateway last', SERVICES.split.toReversed()],
  ])('an upgrade and the way back, %s, fail no request', async (_order, services) => {
    await start('split', previous);
    await replaceAll(services);
    await replaceAll(services, previous);
    await expectNoFailure(4 * services.length);
  });
});
