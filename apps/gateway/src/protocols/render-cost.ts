import { exactNumber } from '#inference/exact-json.js';
import type { ShownUsage } from './protocol-adapter.js';

/** Returns the field `cost` of a usage, a number of dollars with all its digits; no field when the usage has none. */
export function renderCost({ costUsd }: ShownUsage): { cost?: object } {
  return costUsd === undefined ? NO_COST : { cost: exactNumber(costUsd) };
}

const NO_COST = {};
