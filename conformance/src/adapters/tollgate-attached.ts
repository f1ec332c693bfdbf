import type { Adapter, Product, Surroundings } from './adapter.ts';
import { connectAdministration } from './tollgate-administration.ts';
import { makeCatalog } from './tollgate-catalog.ts';

/**
 * A Tollgate that runs already: `--set gateway=http://… --set nats=nats://…`, and the passwords of the NATS users in `NATS_CLI_PASSWORD` and
 * `NATS_GATEWAY_PASSWORD`. Its catalog must have the models of the kit, so `--upstream-port` is needed too.
 */
export const tollgateAttached: Adapter = {
  name: 'tollgate-attached',
  about: 'A running Tollgate, administered over NATS',
  reasons: {
    'price change': 'the catalog of a running system is left alone',
    kill: 'the processes of a running system are left alone',
    'repeated settlement': 'NATS_GATEWAY_PASSWORD is not set',
  },
  start,
};

async function start({ settings, models, prices, upstreamOrigin }: Surroundings): Promise<Product> {
  const { gateway, nats } = settings;
  const { NATS_CLI_PASSWORD: cli, NATS_GATEWAY_PASSWORD: own } = process.env;
  if (!gateway || !nats || !cli) throw new Error('tollgate-attached needs --set gateway=…, --set nats=… and NATS_CLI_PASSWORD');
  const administration = await connectAdministration({
    gatewayUrl: gateway,
    natsUrl: nats,
    natsPasswords: { cli, ...(own && { gateway: own }) },
  });
  const offered = await administration.listModels();
  const missing = models.filter(({ id }) => !offered.includes(id));
  if (missing.length > 0) {
    await administration.close();
    const entries = makeCatalog(upstreamOrigin, new Map(missing.map((model) => [model, prices])));
    throw new Error(`add these entries to the catalog, and use the same --upstream-port:\n${JSON.stringify(entries, null, 2)}`);
  }
  return {
    ...administration.product,
    waits: { settledMs: 5_000, noticedMs: 0, meteredMs: 0, recoveredMs: 0 },
    stop: administration.close,
  };
}
