import type { ModelPrices } from '#contracts/catalog.js';
import { Prisma } from '#database/prisma-client.js';
import type { Changes } from './plan-changes.js';
import { toPriceColumns, writtenColumns } from './price-columns.js';

/** Client of a transaction. */
export type Database = Prisma.TransactionClient;

/** Writes rows in the order of their foreign keys. Prices are inserted, never updated. */
export async function writeChanges(tx: Database, { upstreams, models, prices, routes, pricePlans, services }: Changes): Promise<void> {
  for (const { id, capabilities, timeouts, auth, tls, query, headers, body, healthCheck, ...rest } of upstreams) {
    const row = {
      ...rest,
      capabilities: { ...capabilities },
      timeouts: { ...timeouts },
      auth: auth ? { ...auth } : Prisma.DbNull,
      tls: tls ? { ...tls } : Prisma.DbNull,
      query: query ? { ...query } : Prisma.DbNull,
      headers: headers ? { ...headers } : Prisma.DbNull,
      body: body ? { ...body } : Prisma.DbNull,
      healthCheck: healthCheck ? { ...healthCheck } : Prisma.DbNull,
    };
    await tx.upstream.upsert({ where: { id }, create: { id, ...row }, update: row });
  }
  for (const { id, created, ...rest } of models) {
    const row = { ...rest, created: BigInt(created) };
    await tx.catalogModel.upsert({ where: { id }, create: { id, ...row }, update: row });
  }
  await tx.modelPrice.createMany({
    data: prices.map(({ modelId, version, ...price }) => ({ modelId, version, ...writtenColumns(toPriceColumns(price)) })),
  });
  for (const { modelId, upstream: upstreamId, model: upstreamModel, capabilities, cost, ...rest } of routes) {
    const row = { ...rest, capabilities: capabilities ? { ...capabilities } : Prisma.DbNull };
    const key = { modelId, upstreamId, upstreamModel };
    await tx.modelRoute.upsert({ where: { modelId_upstreamId_upstreamModel: key }, create: { ...key, ...row }, update: row });
    if (rest.enabled) await writeCost(tx, modelId, upstreamId, cost ?? null);
  }
  for (const { id, models, ...rest } of pricePlans) {
    const row = { ...rest, models: models as object[] as Prisma.InputJsonArray };
    await tx.pricePlan.upsert({ where: { id }, create: { id, ...row }, update: row });
  }
  for (const { id, holdMaxPicoUsd: holdMax, dayMaxPicoUsd: dayMax, ...rest } of services) {
    const row = { ...rest, holdMax, dayMax };
    await tx.catalogService.upsert({ where: { id }, create: { id, ...row }, update: row });
  }
}

/** Makes the cost price of today the one of a route, unless it is already the newest. That of a route that left the file stays known. */
async function writeCost(tx: Database, model: string, upstream: string, cost: ModelPrices | null): Promise<void> {
  const price = cost && JSON.stringify(cost);
  await tx.$executeRaw`INSERT INTO catalog.route_cost (model_id, upstream_id, from_day, price)
    SELECT ${model}, ${upstream}, (clock_timestamp() AT TIME ZONE 'UTC')::date, ${price}::jsonb
    WHERE ${price}::jsonb IS DISTINCT FROM (SELECT c.price FROM catalog.route_cost c
      WHERE c.model_id = ${model} AND c.upstream_id = ${upstream} ORDER BY c.from_day DESC LIMIT 1)
    ON CONFLICT (model_id, upstream_id, from_day) DO UPDATE SET price = excluded.price`;
}
