import type { Budget, BudgetSetBody } from '../../src/shapes/budgets.js';
import { ACCOUNTS, KEYS, NOW, PROJECTS } from './demo-data.js';
import { type Endpoint, ok } from './demo-endpoint.js';

const DAY_MS = 86_400_000;
const CENT = 10_000_000_000n;

const resets = { day: 1, week: 4, month: 8, total: 0 };

function budget(
  at: number,
  target: Pick<Budget, 'projectId' | 'keyId'>,
  period: Budget['period'],
  cents: [bigint, bigint, bigint],
): Budget {
  const [limit, spent, held] = cents.map((amount) => `${amount * CENT}`) as [string, string, string];
  const today = Math.floor(NOW / DAY_MS) * DAY_MS;
  const isTotal = period === 'total';
  return {
    ...{
      budgetId: `0195ad00-0000-7000-8000-${at.toString(16).padStart(12, '0')}`,
      accountId: ACCOUNTS[0]?.accountId ?? '',
      ...target,
      dimension: null,
      value: null,
    },
    ...{
      period,
      timeZone: 'UTC',
      startDay: 1,
      unit: 'usd',
      limitPicoUsd: limit,
      spentPicoUsd: spent,
      heldPicoUsd: held,
      thresholds: [50, 80, 100],
    },
    windowStart: isTotal ? null : new Date(today).toISOString(),
    resetsAt: isTotal ? null : new Date(today + resets[period] * DAY_MS).toISOString(),
    createdAt: new Date(NOW - 30 * DAY_MS).toISOString(),
  };
}

const project = (at: number) => ({ projectId: PROJECTS[at]?.projectId ?? '', keyId: null });

let budgets: Budget[] = [
  budget(1, { projectId: null, keyId: null }, 'month', [25_000n, 11_842n, 120n]),
  budget(2, project(0), 'month', [9_000n, 7_561n, 88n]),
  budget(3, project(1), 'day', [500n, 499n, 0n]),
  { ...budget(5, project(0), 'day', [0n, 0n, 0n]), unit: 'tokens', limitTokens: 5_000_000, spentTokens: 3_912_400, heldTokens: 41_000 },
  budget(4, { projectId: PROJECTS[0]?.projectId ?? '', keyId: KEYS[1]?.keyId ?? '' }, 'total', [1_000n, 132n, 21n]),
];

export function budgetsOf(accountId: string): Budget[] {
  return budgets.filter((one) => one.accountId === accountId);
}

const CONFLICT = {
  message: 'There is such a budget already. Change it instead.',
  type: 'conflict_error',
  param: 'period',
  code: 'conflict',
};

/** The fields of a body that a budget is found by. */
function targetOf({ projectId, keyId }: BudgetSetBody): Pick<Budget, 'projectId' | 'keyId'> {
  return { projectId: projectId ?? null, keyId: keyId ?? null };
}

function presentOne(body: BudgetSetBody): Budget | undefined {
  const { projectId, keyId } = targetOf(body);
  return budgets.find((one) => one.projectId === projectId && one.keyId === keyId && one.period === body.period);
}

function setBudget(body: BudgetSetBody): Budget {
  const { period, limitPicoUsd } = body;
  const old = presentOne(body);
  const set = { ...(old ?? budget(budgets.length + 1, targetOf(body), period, [0n, 0n, 0n])), limitPicoUsd };
  budgets = [...budgets.filter((one) => one !== old), set];
  return set;
}

export const BUDGETS: Endpoint[] = [
  ['GET', /^\/accounts\/([^/]+)\/budgets$/, ({ parts: [account = ''] }) => ok({ budgets: budgetsOf(account) })],
  [
    'POST',
    /^\/accounts\/[^/]+\/budgets$/,
    ({ body }) => {
      const asked = body as unknown as BudgetSetBody;
      return presentOne(asked) ? { status: 409, body: { error: CONFLICT } } : { status: 201, body: setBudget(asked) };
    },
  ],
  ['PUT', /^\/accounts\/[^/]+\/budgets$/, ({ body }) => ok(setBudget(body as unknown as BudgetSetBody))],
  [
    'DELETE',
    /^\/accounts\/[^/]+\/budgets\/([^/]+)$/,
    ({ parts: [id] }) => {
      const removed = budgets.find(({ budgetId }) => budgetId === id);
      budgets = budgets.filter((one) => one !== removed);
      return ok(removed);
    },
  ],
];
