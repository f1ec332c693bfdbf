import type { Budget, BudgetSetRequest } from '#contracts/billing/budgets.js';
import type { TenantBudget } from '#contracts/billing/tenants.js';
import { parseUsd } from '#money/pico-usd.js';
import { checkBudget, removeBudget, setBudget } from '../budgets/budgets.js';
import { renderBudget, STORED_COLUMNS, type StoredBudget } from '../budgets/stored-budget.js';
import { compareFields, type Fields, newFields, normalizeUsd, removedFields, renderPico, withoutAbsent } from './compare-fields.js';
import type { Path, Place, Planning } from './planning.js';
import type { TenantState, Tx } from './tenant-state.js';

/** The account, project or key that has a list of budgets. */
interface Target {
  projectId: string | null;
  keyId: string | null;
}

export async function readBudgets(tx: Tx, accountIds: string[], now: Date): Promise<Budget[]> {
  const rows = await tx.$queryRaw<StoredBudget[]>`SELECT ${STORED_COLUMNS} FROM billing.budget b
    WHERE b.account_id = ANY(${accountIds}::uuid[]) ORDER BY created_at, id`;
  return rows.map((row) => renderBudget(row, now.getTime()));
}

export function planBudgets(
  planning: Planning,
  budgets: readonly TenantBudget[] | undefined,
  target: Target,
  place: Place,
  path: Path,
): void {
  if (budgets === undefined) return;
  const { accountId } = planning;
  const stored = selectBudgets(planning.state, target);
  const listed = new Set<string>();
  planning.refuseTwice(budgets, [...path, 'budgets'], nameWanted, 'period');
  for (const [index, budget] of budgets.entries()) {
    const name = nameWanted(budget);
    listed.add(name);
    const found = stored.find((one) => nameStored(one) === name);
    planBudget(planning, budget, found, target, { ...place, name }, [...path, 'budgets', index]);
  }
  for (const budget of stored) {
    // A budget of the customer is theirs.
    const name = nameStored(budget);
    if (listed.has(name) || budget.setBy === 'customer') continue;
    const request = { budgetId: budget.budgetId, accountId };
    planning.remove('budget', { ...place, name }, removedFields(storedBudget(budget)), ({ joined, author }) =>
      removeBudget(joined, request, author),
    );
  }
}

/** The budgets of the customer are theirs: a file that names them would make them the operator's. */
export function exportBudgets(state: TenantState, target: Target, leftOut: string[]): TenantBudget[] {
  return selectBudgets(state, target).flatMap((budget) => {
    const { budgetId, period, unit, dimension, value } = budget;
    if (budget.setBy === 'customer') {
      leftOut.push(`budget ${period} ${unit} (${budgetId}): the customer has set it`);
      return [];
    }
    const { setBy: _, thresholds, ...fields } = storedBudget(budget);
    // A budget of each value has no thresholds, and must not name any.
    const isPerValue = dimension !== null && value === null;
    return [
      {
        period,
        ...fields,
        ...(!isPerValue && { thresholds: thresholds as number[] }),
        ...(dimension !== null && { dimension }),
        ...(value !== null && { value }),
      },
    ];
  });
}

function selectBudgets(state: TenantState | undefined, target: Target): Budget[] {
  return (state?.budgets ?? []).filter(({ projectId, keyId }) => projectId === target.projectId && keyId === target.keyId);
}

function planBudget(
  planning: Planning,
  wanted: TenantBudget,
  stored: Budget | undefined,
  { projectId, keyId }: Target,
  place: Place,
  path: Path,
): void {
  const { accountId } = planning;
  const { period, limitUsd, limitTokens, timeZone, startDay, thresholds, dimension, value } = wanted;
  const target = { accountId, ...(keyId !== null ? { keyId } : projectId !== null ? { projectId } : {}) };
  const request: BudgetSetRequest = {
    ...{ ...target, period },
    ...withoutAbsent({ limitTokens, timeZone, startDay, thresholds, dimension, value }),
    ...(limitUsd !== undefined && { limitPicoUsd: String(parseUsd(limitUsd)) }),
  };
  if (!planning.check(path, () => checkBudget(request), { limitPicoUsd: 'limitUsd' })) return;
  const mark = planning.own('budget', stored?.budgetId ?? '', stored);
  const fields = wantedBudget(wanted);
  if (!stored) {
    const shown = newFields(fields).filter(({ field }) => field !== 'setBy');
    planning.create('budget', place, shown, async ({ joined, author }) => {
      mark.id = (await setBudget(joined, request, author)).budgetId;
    });
    return;
  }
  const changed = compareFields(storedBudget(stored), fields);
  const moved = stored.dimension !== null && changed.find(({ field }) => field === 'timeZone' || field === 'startDay');
  if (moved) planning.fault([...path, moved.field], 'cannot change for a budget of users or tags: remove the budget first');
  planning.change('budget', place, changed, ({ joined, author }) => setBudget(joined, request, author));
}

function storedBudget(budget: Budget): Fields {
  const { unit, timeZone, startDay, thresholds, setBy = 'operator' } = budget;
  const limit =
    unit === 'tokens'
      ? { limitTokens: budget.operatorLimitTokens ?? budget.limitTokens }
      : { limitUsd: renderPico(budget.operatorLimitPicoUsd ?? budget.limitPicoUsd) };
  return { ...limit, timeZone, startDay, thresholds: [...thresholds], setBy };
}

function wantedBudget({ limitUsd, limitTokens, timeZone, startDay, thresholds }: TenantBudget): Fields {
  const sorted = thresholds && [...new Set(thresholds)].sort((a, b) => a - b);
  const limit = limitUsd === undefined ? { limitTokens } : { limitUsd: normalizeUsd(limitUsd) };
  return { ...limit, timeZone, startDay, thresholds: sorted, setBy: 'operator' };
}

/** Returns the period, unit and value of a budget, of which a target has one. */
function nameStored({ period, unit, dimension, value }: Pick<Budget, 'period' | 'unit' | 'dimension' | 'value'>): string {
  const of = dimension === null ? '' : value === null ? ` of each ${dimension}` : ` of ${dimension} ${value}`;
  return `${period} ${unit}${of}`;
}

function nameWanted({ period, limitTokens, dimension, value }: TenantBudget): string {
  const unit = limitTokens === undefined ? 'usd' : 'tokens';
  return nameStored({ period, unit, dimension: dimension ?? null, value: value ?? null });
}
