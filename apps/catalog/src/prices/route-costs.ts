import type { ModelPrices } from '#contracts/catalog.js';
import type { RouteCost } from '#contracts/route-costs.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { renderListPrices } from '#money/list-prices.js';
import { parsePrice } from '#money/price-plan.js';

interface Row {
  model: string;
  upstream: string;
  fromDay: string;
  price: ModelPrices | null;
}

/** Prices that the operator pays upstreams, by day. */
export class RouteCosts {
  constructor(private readonly prisma: PrismaClient) {}

  /** Returns the cost prices that count on a day of the month, by model, upstream and day. */
  async list(month: string): Promise<RouteCost[]> {
    const start = `${month}-01`;
    const rows = await this.prisma.$queryRaw<Row[]>`
      SELECT model_id AS model, upstream_id AS upstream, from_day::text AS "fromDay", price FROM catalog.route_cost c
      WHERE from_day < ${start}::date + interval '1 month' AND NOT EXISTS (SELECT FROM catalog.route_cost later
        WHERE later.model_id = c.model_id AND later.upstream_id = c.upstream_id AND later.from_day > c.from_day AND later.from_day <= ${start}::date)
      ORDER BY model_id COLLATE "C", upstream_id COLLATE "C", from_day`;
    return rows.map(({ price, ...cost }) => ({ ...cost, ...(price && { price: renderListPrices(parsePrice(price)) }) }));
  }
}
