import type { Product } from '../adapters/adapter.ts';
import { cuts } from './cuts.ts';
import { disconnects } from './disconnects.ts';
import { errors } from './errors.ts';
import { finish } from './finish.ts';
import { killRows } from './kills.ts';
import { oddities } from './oddities.ts';
import { overspend } from './overspend.ts';
import { prices } from './prices.ts';
import { reasoning } from './reasoning.ts';
import { refusals } from './refusals.ts';
import { repeats } from './repeats.ts';
import { retries } from './retries.ts';
import type { Row } from './row.ts';
import { tools } from './tools.ts';
import { usage } from './usage.ts';

/** All rows in the order of the report. A product without processes that can be killed has one row that says so. */
export function allRows({ processes = [] }: Pick<Product, 'processes'>): Row[] {
  const kills = killRows(processes.length > 0 ? processes : ['any process']);
  return [
    ...overspend,
    ...disconnects,
    ...cuts,
    ...usage,
    ...repeats,
    ...kills,
    ...prices,
    ...retries,
    ...refusals,
    ...tools,
    ...reasoning,
    ...finish,
    ...errors,
    ...oddities,
  ];
}
