import type { RouteCost } from '#contracts/route-costs.js';
import { parseListPrices } from '#money/list-prices.js';
import { makeRates, type Rates } from './rates.js';

/** The route and the days of a cost price. */
interface Paid {
  model: string;
  upstream: string;
  from_day: string;
  /** The first day that it does not count on. Absent: none. */
  to_day?: string | undefined;
}

/** Returns the cost prices as rates, each up to the day of the next one of its model and upstream. */
export function listCostRates(costs: readonly RouteCost[]): Rates<Paid> {
  const routes = Map.groupBy(costs, ({ model, upstream }) => JSON.stringify([model, upstream]));
  return makeRates(
    [...routes.values()].flatMap((route) => {
      const inOrder = route.toSorted((one, other) => (one.fromDay < other.fromDay ? -1 : 1));
      return inOrder.flatMap(({ model, upstream, fromDay, price }, index) =>
        price ? [{ model, upstream, from_day: fromDay, to_day: inOrder[index + 1]?.fromDay, price: parseListPrices(price) }] : [],
      );
    }),
  );
}
