import { IsOptional, Matches } from 'class-validator';
import { Day, Nested, Text } from './billing/fields.js';
import { MONTH, MONTH_MESSAGE } from './billing/months.js';
import { Endpoint } from './endpoint.js';
import { ListPrices } from './scheduled-prices.js';

/** Price that the operator pays an upstream for a model, from a day up to the next one of the two. */
export class RouteCost {
  /** The id in this catalog, not the name at the upstream. */
  @Text(256) model!: string;
  @Text(256) upstream!: string;
  /** Day in UTC on which it was applied. The last apply of a day counts for the whole day. */
  @Day() fromDay!: string;
  /** Absent: no longer known. */
  @IsOptional() @Nested(() => ListPrices) price?: ListPrices;
}

export class CostListRequest {
  /** Month in UTC. */
  @Matches(MONTH, { message: MONTH_MESSAGE }) month!: string;
}

export interface CostListReply {
  /** Cost prices that count on a day of the month, also of routes that left the catalog, by model, upstream and day. */
  costs: RouteCost[];
}

export const costList = new Endpoint<CostListRequest, CostListReply>('catalog.v1.cost.list', CostListRequest, {
  about: 'Cost prices of the routes in a month, with the days from which they count',
});
