import { offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack } from '#testing/stack.js';
import { connectAdministrator, createTenant } from '#testing/tenant.js';
import type { Product } from '../../conformance/src/adapters/adapter.ts';
import { tollgateAttached } from '../../conformance/src/adapters/tollgate-attached.ts';
import { makeCatalog } from '../../conformance/src/adapters/tollgate-catalog.ts';
import { MODELS } from '../../conformance/src/models.ts';
import { PRICES } from '../../conformance/src/money/terms.ts';
import { allRows } from '../../conformance/src/rows/all-rows.ts';
import { type RowResult, runRows } from '../../conformance/src/run-rows.ts';
import { ScriptedUpstream } from '../../conformance/src/upstream/scripted-upstream.ts';

/** The quick rows of the conformance kit, on the shared system. The long run has all rows, on systems that the kit starts. */
const rows = allRows({}).filter(({ isQuick }) => isQuick);
const results = new Map<string, RowResult>();
let product: Product | undefined;
let upstream: ScriptedUpstream | undefined;
let cleanUp: (() => Promise<void>) | undefined;

beforeAll(async () => {
  const facts = catalogStack();
  const administrator = await connectAdministrator(facts);
  upstream = await ScriptedUpstream.start();
  const entries = makeCatalog(upstream.origin, new Map(MODELS.map((model) => [model, PRICES])));
  const { apiKey } = await createTenant(administrator, { usd: '1' });
  await offerModels(administrator, facts, apiKey, entries);
  cleanUp = async () => {
    await withdrawModels(administrator, entries);
    await administrator.close();
  };
  process.env.NATS_CLI_PASSWORD = facts.natsPasswords.cli;
  process.env.NATS_GATEWAY_PASSWORD = facts.natsPasswords.gateway;
  product = await tollgateAttached.start({
    ...{ upstreamOrigin: upstream.origin, models: MODELS, prices: PRICES, folder: '', say: () => {} },
    settings: { gateway: facts.gatewayUrl, nats: facts.natsUrl },
  });
  for (const result of await runRows({ adapter: tollgateAttached, product, upstream, rows, seed: 1, say: () => {} }))
    results.set(result.id, result);
});
afterAll(async () => {
  await product?.stop();
  await upstream?.stop();
  await cleanUp?.();
});

test.each(rows)('$title', ({ id }) => {
  const { result, faults } = results.get(id) ?? {};
  expect({ result, faults }).toEqual({ result: 'passed', faults: [] });
});
