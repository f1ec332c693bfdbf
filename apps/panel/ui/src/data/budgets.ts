import { TAG_NAME } from '#contracts/rules/bounds.js';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import type { Budget, BudgetPeriod, BudgetUnit } from '../../../src/shapes/billing.js';
import { count, exactUsd } from '../format/numbers.js';

/** The window of a budget, in words. */
export const PERIODS: Record<BudgetPeriod, { each: string; now: string }> = {
  day: { each: 'Daily', now: 'today' },
  week: { each: 'Weekly', now: 'this week' },
  month: { each: 'Monthly', now: 'this month' },
  total: { each: 'Total', now: 'in total' },
};

export const WEEKDAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

/** `$5.00` or `1,000 tokens`. */
export function renderAmount({ unit }: Budget, amount: bigint): string {
  return unit === 'tokens' ? `${count(Number(amount))} tokens` : exactUsd(amount);
}

/** True for a budget of each user, session or value of a tag: each has sums of its own, and the budget itself has none. */
export function isForEach({ dimension, value }: Pick<Budget, 'dimension' | 'value'>): boolean {
  return dimension !== null && value === null;
}

/** The amounts of budgets that pages show rounded, for one precision. */
export function collectMoney(budgets: readonly Budget[] | undefined): bigint[] {
  const ofMoney = budgets?.filter((budget) => budget.unit === 'usd' && !isForEach(budget)) ?? [];
  return ofMoney.flatMap((budget) => [parseAmounts(budget).spent, parseAmounts(budget).held, computeLeft(budget)]);
}

/** Part of the limit that is neither spent nor held. */
export function computeLeft(budget: Budget): bigint {
  const { limit, spent, held } = parseAmounts(budget);
  return limit > spent + held ? limit - spent - held : 0n;
}

/** Distinguishes the budgets of an account: there is one for each target, period and unit. */
export interface BudgetChoice {
  projectId?: string | undefined;
  /** `rootKeyId` of the key. */
  keyId?: string | undefined;
  dimension?: string | undefined;
  value?: string | undefined;
  period: BudgetPeriod;
  unit: BudgetUnit;
}

/** Most thresholds of one budget. */
const THRESHOLDS_MAX = 10;

/** Reads percentages of a limit such as `50, 80, 100`, or tells how to write them. An empty text is none. */
export function readThresholds(text: string): { thresholds?: number[]; fault?: string } {
  const parts = text.split(/[\s,;%]+/).filter((part) => part !== '');
  const thresholds = [...new Set(parts.map(Number))].toSorted((one, other) => one - other);
  if (thresholds.some((one) => !Number.isInteger(one) || one < 1 || one > 100))
    return { fault: 'Write whole percentages from 1 to 100: 50, 80, 100' };
  return thresholds.length > THRESHOLDS_MAX ? { fault: `Write at most ${THRESHOLDS_MAX} percentages.` } : { thresholds };
}

/** The budget that exists for a choice, which setting it would replace. */
export function presentBudget(budgets: readonly Budget[], choice: BudgetChoice): Budget | undefined {
  const { projectId, keyId, dimension = null, value = null, period, unit } = choice;
  return budgets.find((budget) => {
    const hasTarget = keyId ? budget.keyId === keyId : budget.keyId === null && budget.projectId === (projectId ?? null);
    return hasTarget && budget.dimension === dimension && budget.value === value && budget.period === period && budget.unit === unit;
  });
}

export type Target = { projectId: string } | { keyId: string };

/** The budget of all requests of a project or key with the largest share spent, which is the one that refuses first. Undefined: it has none. */
export function findTightest(budgets: readonly Budget[] | undefined, of: Target): Budget | undefined {
  return budgets
    ?.filter((budget) => budget.dimension === null)
    .filter((budget) => ('keyId' in of ? budget.keyId === of.keyId : budget.keyId === null && budget.projectId === of.projectId))
    .toSorted((one, other) => shareSpent(other) - shareSpent(one))[0];
}

/** From 0 to 1, for drawing and comparing; above 1 after the limit was lowered. */
export function shareSpent(budget: Budget): number {
  const { limit, spent } = parseAmounts(budget);
  return limit > 0n ? Number((spent * 1_000_000n) / limit) / 1_000_000 : 1;
}

/** The requests of a target that a budget counts: all together, or those of users, sessions, agents, clients or values of a tag. */
export const COUNTINGS = {
  all: { label: 'All requests together', field: undefined },
  'each-user': { label: 'Each end user', field: undefined },
  user: { label: 'One end user', field: 'User' },
  'each-session': { label: 'Each session or run of an agent', field: undefined },
  session: { label: 'One session', field: 'Session' },
  'each-agent': { label: 'Each agent', field: undefined },
  agent: { label: 'One agent', field: 'Agent' },
  'each-client': { label: 'Each client, such as OpenAI/Python', field: undefined },
  client: { label: 'One client', field: 'Client, such as OpenAI/Python' },
  'each-child': { label: 'Each child key, which keys may then make', field: undefined },
  'each-tag': { label: 'Each value of a tag', field: 'Tag' },
  tag: { label: 'One value of a tag', field: 'Tag and value, such as team=search' },
} as const;
export type Counting = keyof typeof COUNTINGS;

interface Values {
  dimension?: string;
  value?: string;
}

/** Parses what a budget counts. Undefined: `text` does not name it. */
export function parseValues(counting: Counting, text: string): Values | undefined {
  const written = text.trim();
  const [, tag, value] = /^([^=]*)(?:=(.+))?$/.exec(written) ?? [];
  const dimension = tag !== undefined && TAG_NAME.test(tag) ? `tag:${tag}` : undefined;
  switch (counting) {
    case 'all':
      return {};
    case 'each-user':
    case 'each-session':
    case 'each-agent':
    case 'each-client':
    case 'each-child':
      return { dimension: counting.slice('each-'.length) };
    case 'user':
    case 'session':
    case 'agent':
    case 'client':
      return written ? { dimension: counting, value: written } : undefined;
    case 'each-tag':
      return dimension && value === undefined ? { dimension } : undefined;
    case 'tag':
      return dimension && value ? { dimension, value } : undefined;
  }
}
