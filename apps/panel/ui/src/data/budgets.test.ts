import type { Budget } from '../../../src/shapes/billing.js';
import { collectMoney, computeLeft, findTightest, isForEach, presentBudget, readThresholds, renderAmount, shareSpent } from './budgets.js';

const BUDGET: Budget = {
  ...{
    budgetId: 'b',
    accountId: 'a',
    projectId: null,
    keyId: null,
    dimension: null,
    value: null,
    period: 'month',
    timeZone: 'UTC',
    startDay: 1,
  },
  ...{ unit: 'usd' },
  ...{ limitPicoUsd: '100', spentPicoUsd: '30', heldPicoUsd: '20', thresholds: [80], windowStart: null, resetsAt: null, createdAt: '' },
};

test.each<[what: string, fields: Partial<Budget>, left: bigint, share: number]>([
  ['a part is held', {}, 50n, 0.3],
  ['all of it is spent', { spentPicoUsd: '100', heldPicoUsd: '0' }, 0n, 1],
  ['the limit was lowered', { limitPicoUsd: '15', heldPicoUsd: '0' }, 0n, 2],
  ['it is of tokens', { unit: 'tokens', limitTokens: 400, spentTokens: 100, heldTokens: 60 }, 240n, 0.25],
  ['the limit is zero', { limitPicoUsd: '0', spentPicoUsd: '0', heldPicoUsd: '0' }, 0n, 1],
])('what is left and spent: %s', (_what, fields, left, share) => {
  expect([computeLeft({ ...BUDGET, ...fields }), shareSpent({ ...BUDGET, ...fields })]).toEqual([left, share]);
});

test('the tightest budget of a target is the one with the largest share spent', () => {
  const ofProject = { ...BUDGET, projectId: 'p' };
  const budgets = [
    { ...BUDGET, spentPicoUsd: '99' },
    { ...ofProject, spentPicoUsd: '10' },
    { ...ofProject, period: 'day' as const, limitPicoUsd: '10', spentPicoUsd: '5' },
    { ...ofProject, keyId: 'k', spentPicoUsd: '80' },
  ];
  expect([findTightest(budgets, { projectId: 'p' }), findTightest(budgets, { keyId: 'k' })]).toEqual([budgets[2], budgets[3]]);
  expect([findTightest(budgets, { keyId: 'x' }), findTightest(undefined, { keyId: 'k' })]).toEqual([undefined, undefined]);
});

test('a choice has the budget of its target, values, period and unit, and no other [money-create-budget]', () => {
  const ofKey = { ...BUDGET, projectId: 'p', keyId: 'k' };
  const ofTeam = { ...BUDGET, dimension: 'tag:team', value: 'search' };
  const budgets = [BUDGET, { ...BUDGET, projectId: 'p' }, ofKey, ofTeam];
  const find = (choice: object) => presentBudget(budgets, { period: 'month', unit: 'usd', ...choice });
  expect([find({}), find({ projectId: 'p' }), find({ keyId: 'k' }), find({ dimension: 'tag:team', value: 'search' })]).toEqual(budgets);
  const others = [
    { period: 'day' },
    { unit: 'tokens' },
    { projectId: 'q' },
    { keyId: 'l' },
    { dimension: 'tag:team' },
    { dimension: 'user' },
  ];
  expect(others.map(find)).toEqual(others.map(() => undefined));
});

test('a budget of each value has no sums of its own to show', () => {
  const each = { ...BUDGET, dimension: 'session' };
  const one = { ...each, value: 'run-1' };
  expect([BUDGET, each, one].map(isForEach)).toEqual([false, true, false]);
  expect(collectMoney([BUDGET, each])).toEqual(collectMoney([BUDGET]));
});

test('amounts are in the unit of the budget', () => {
  expect([renderAmount(BUDGET, 1_500_000_000_000n), renderAmount({ ...BUDGET, unit: 'tokens' }, 1_500_000n)]).toEqual([
    '$1.50',
    '1,500,000 tokens',
  ]);
});

test.each([
  ['50, 80, 100', [50, 80, 100]],
  ['80% 50 80', [50, 80]],
  ['', []],
])('reads the thresholds %s', (text, thresholds) => {
  expect(readThresholds(text)).toEqual({ thresholds });
});

test.each(['0', '101', '80.5', 'half'])('refuses the threshold %s', (text) => {
  expect(readThresholds(text)).toEqual({ fault: 'Write whole percentages from 1 to 100: 50, 80, 100' });
});

test('refuses more thresholds than a budget may have', () => {
  expect(readThresholds('1 2 3 4 5 6 7 8 9 10 11')).toEqual({ fault: 'Write at most 10 percentages.' });
});
