import { Prisma } from '#database/prisma-client.js';
import type { Changes } from './plan-changes.js';
import { toPriceColumns, writtenColumns } from './price-columns.js';

/** Client of a transaction. */
export type Database = Prisma.TransactionClient;

/** Writes rows in the order of their foreign keys. Prices are inserted, never updated. */
export async function writeChanges(tx: Database, { upstreams, models, prices, routes, pricePlans }: Changes): Promise<void> {
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
  for (const { modelId, upstream: upstreamId, model: upstreamModel, capabilities, ...rest } of routes) {
    const row = { ...rest, capabilities: capabilities ? { ...capabilities } : Prisma.DbNull };
    const key = { modelId, upstreamId, upstreamModel };
    await tx.modelRoute.upsert({ where: { modelId_upstreamId_upstreamModel: key }, create: { ...key, ...row }, update: row });
  }
  for (const { id, models, ...rest } of pricePlans) {
    const row = { ...rest, models: models as object[] as Prisma.InputJsonArray };
    await tx.pricePlan.upsert({ where: { id }, create: { id, ...row }, update: row });
  }
}
