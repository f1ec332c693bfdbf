import type { Adapter, Product } from '../adapters/adapter.ts';
import type { Group } from '../rows/row.ts';
import type { Result, RowResult } from '../run-rows.ts';

/** A finished run, as it is written to JSON. */
export interface Run {
  product: string;
  about: string;
  version: string | null;
  seed: number;
  machine: string;
  seconds: number;
  rows: RowResult[];
}

export interface Totals {
  rows: number;
  counts: Record<Result, number>;
  /** Rows with dollars, and the sum of what they are off, without sign. */
  moneyRows: number;
  offPicoUsd: bigint;
  heldPicoUsd: bigint;
  billedPicoUsd: bigint;
}

export const GROUP_TITLES: Record<Group, string> = {
  overspend: 'Parallel requests at little money',
  disconnects: 'The client leaves',
  cuts: 'The upstream is cut',
  usage: 'Late and contradictory usage',
  repeats: 'Repeated requests and settlements',
  kills: 'kill -9',
  prices: 'Price change in flight',
  retries: 'Failures and retries',
  refusals: 'Refusals',
  tools: 'Tools',
  reasoning: 'Reasoning',
  finish: 'Finish and usage',
  errors: 'Errors in streams',
  oddities: 'Odd but good streams',
};

export function makeRun(parts: {
  adapter: Adapter;
  product: Product;
  seed: number;
  machine: string;
  seconds: number;
  rows: RowResult[];
}): Run {
  const { adapter, product, ...rest } = parts;
  return { product: adapter.name, about: adapter.about, version: product.version ?? null, ...rest };
}

export function addUp(rows: readonly RowResult[]): Totals {
  const counts: Record<Result, number> = { passed: 0, failed: 0, 'not offered': 0, broken: 0 };
  const totals: Totals = { rows: rows.length, counts, moneyRows: 0, offPicoUsd: 0n, heldPicoUsd: 0n, billedPicoUsd: 0n };
  for (const { result, money } of rows) {
    counts[result]++;
    if (!money) continue;
    const off = money.billedPicoUsd - money.expectedPicoUsd;
    totals.moneyRows++;
    totals.offPicoUsd += off < 0n ? -off : off;
    totals.heldPicoUsd += money.heldPicoUsd ?? 0n;
    totals.billedPicoUsd += money.billedPicoUsd;
  }
  return totals;
}

/** JSON with amounts as strings of pico-dollars. */
export function toJson(value: unknown): string {
  return `${JSON.stringify(value, (_key, one) => (typeof one === 'bigint' ? String(one) : one), 2)}\n`;
}
