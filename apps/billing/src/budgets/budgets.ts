import { randomUUID } from 'node:crypto';
import type { Budget, BudgetListReply, BudgetListRequest, BudgetPeriod, BudgetSetRequest, BudgetUnit } from '#contracts/billing/budgets.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, audited, changedFields } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import { requireAccount } from '../accounts/accounts.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { type BudgetWindow, isTimeZone, isWithin, windowAt } from '../calendar/budget-window.js';
import { type Level, levelOf } from '../limits/operator-limits.js';
import { type BudgetColumns, type BudgetState, inUnit, isOfEach, payloadOf, renderMoment } from './budget.js';
import { highestReached, newlyPassed, THRESHOLDS_DEFAULT } from './budget-thresholds.js';
import { type Counted, countHeld, countSpent, countSpentSince, type SpentBefore } from './count-spent.js';
import { addSpentValues, addValuesSince } from './count-values.js';
import { operatorLimitAfter, requireRemovable, requireSettable } from './operator-budgets.js';

/** Batches read all budgets of an account. */
const BUDGETS_MAX = 1_000;
const TIME_ZONE_DEFAULT = 'UTC';
const START_DAY_DEFAULT = 1;
/** Start days of weeks, and of months: each month has them. */
const START_DAYS: Readonly<Record<BudgetPeriod, number>> = { day: 1, week: 7, month: 28, total: 1 };

/**
 * Sets the budget of a target for a period in a unit. A new budget counts what was spent and is held in its window already. A repeated request changes
 * the limit; another time zone or start day begins another window, which is counted anew. A total of users or tags counts from the moment it is set, since no
 * rollup knows what they have spent before. Requests see the change from their next reserve on. A threshold that is passed by the change is an
 * event; a budget of each user or each value of a tag has no thresholds. A customer may only lower the limit of a budget of the operator.
 * @throws {ServiceError} `not_found` for an unknown account, project or key, `invalid_request` for a time zone, a start day, no limit or two,
 * a value without a dimension, or thresholds of each user or tag, `conflict` when the account has `BUDGETS_MAX` budgets, for another time zone
 * or start day of a budget of users or tags, or for `createOnly` when the budget exists, `permission_denied` for a change of an operator's
 * budget that a customer may not make.
 */
export async function setBudget(prisma: PrismaClient, request: BudgetSetRequest, author: Author = OWN_AUTHOR): Promise<Budget> {
  checkFields(request);
  const { period } = request;
  const limit = String(request.limitTokens ?? request.limitPicoUsd);
  const counted = await targetOf(prisma, request);
  const known = await findBudget(prisma, counted, period);
  const timeZone = request.timeZone ?? known?.time_zone ?? TIME_ZONE_DEFAULT;
  const startDay = request.startDay ?? known?.start_day ?? START_DAY_DEFAULT;
  const window = windowAt(period, timeZone, await clockOf(prisma), startDay);
  const thresholds = isOfEach(counted) ? [] : (thresholdsOf(request) ?? known?.thresholds ?? [...THRESHOLDS_DEFAULT]);
  const createOnly = request.createOnly === true;
  const settings = { counted, period, timeZone, startDay, limit, thresholds, window, createOnly, level: levelOf(author) };
  if (counted.dimension !== null) return setBudgetOfValues(prisma, settings, author);
  const before = hasWindows(known, settings) ? undefined : await countSpent(prisma, counted, window);
  return audited(prisma, 'billing', author, async (tx) => {
    const now = await lockAccount(tx, counted.accountId);
    const row = await findBudget(tx, counted, period);
    if (row && createOnly) throw existsAlready(row);
    requireSettable(row, settings);
    if (row && hasWindows(row, settings)) {
      await setLimit(tx, row, settings);
    } else {
      if (!before || !isWithin(window, now, now)) throw changedMeanwhile();
      await beginBudget(tx, { ...settings, before }, row);
    }
    const changed = (await findBudget(tx, counted, period)) as BudgetRow;
    await passThresholds(tx, changed, now);
    return { result: renderBudget(changed, now), change: changeOf(row, changed) };
  });
}

function checkFields(request: BudgetSetRequest): void {
  const invalid = (message: string, param: keyof BudgetSetRequest) => new ServiceError('invalid_request', message, param);
  const { period, startDay = START_DAY_DEFAULT, limitPicoUsd, limitTokens } = request;
  if ((limitPicoUsd === undefined) === (limitTokens === undefined)) {
    throw invalid('give either limitPicoUsd or limitTokens', 'limitPicoUsd');
  }
  if (request.timeZone !== undefined && !isTimeZone(request.timeZone)) {
    throw invalid('timeZone must be the name of a time zone such as Europe/Berlin', 'timeZone');
  }
  if (startDay > START_DAYS[period]) throw invalid(`startDay of a ${period} must be from 1 to ${START_DAYS[period]}`, 'startDay');
  if (request.value !== undefined && request.dimension === undefined) {
    throw invalid('value is one of a dimension, which is missing', 'dimension');
  }
  if (request.thresholds?.length && isOfEach(request)) {
    throw invalid('a budget of each user or each value of a tag has no thresholds', 'thresholds');
  }
}

/** True when a budget has the windows of these settings. */
function hasWindows(row: BudgetRow | undefined, { timeZone, startDay }: Pick<NewBudget, 'timeZone' | 'startDay'>): boolean {
  return row?.time_zone === timeZone && row.start_day === startDay;
}

/** Sets a budget of users or tags. */
async function setBudgetOfValues(prisma: PrismaClient, budget: Omit<NewBudget, 'before'>, author: Author): Promise<Budget> {
  const { counted, period } = budget;
  return audited(prisma, 'billing', author, async (tx) => {
    const known = await findBudget(tx, counted, period);
    const start = period === 'total' ? { ...budget.window, windowStart: await clockOf(tx) } : budget.window;
    const added = { ...counted, dimension: counted.dimension ?? '', budgetId: randomUUID(), window: start };
    const snapshot = known ? undefined : await addSpentValues(tx, added);
    const now = await lockAccount(tx, counted.accountId);
    const row = await findBudget(tx, counted, period);
    if (row && budget.createOnly) throw existsAlready(row);
    requireSettable(row, budget);
    if (row?.id !== known?.id || (!row && !isWithin(start, now, now))) throw changedMeanwhile();
    if (row && !hasWindows(row, budget)) {
      const param = row.start_day === budget.startDay ? 'timeZone' : 'startDay';
      throw new ServiceError('conflict', 'Remove the budget first: its users or tags are counted by window.', param);
    }
    if (row) await setLimit(tx, row, budget);
    else {
      await addValuesSince(tx, added, snapshot ?? '');
      await addBudget(tx, { ...budget, window: start }, added.budgetId, { spent: '0', held: '0' });
    }
    const changed = (await findBudget(tx, counted, period)) as BudgetRow;
    await passThresholds(tx, changed, now);
    return { result: renderBudget(changed, now), change: changeOf(row, changed) };
  });
}

function changedMeanwhile(): ServiceError {
  return new ServiceError('conflict', 'The budget was changed meanwhile. Try again.', 'period');
}

/** Creating must not replace a limit that the caller has not seen. */
function existsAlready({ id: budgetId, unit, limit }: BudgetRow): ServiceError {
  const [text, details] =
    unit === 'tokens' ? [`${limit} tokens`, { limitTokens: limit }] : [`$${renderUsd(parsePicoUsd(limit))}`, { limitPicoUsd: limit }];
  const message = `There is such a budget already, with a limit of ${text}. Change it instead.`;
  return new ServiceError('conflict', message, 'period', { details: { budgetId, ...details } });
}

async function setLimit(
  tx: Prisma.TransactionClient,
  row: BudgetRow,
  { limit, thresholds, level }: Pick<NewBudget, 'limit' | 'thresholds' | 'level'>,
): Promise<void> {
  const { setBy, operatorLimit } = operatorLimitAfter(row, { limit, level });
  await tx.$executeRaw`UPDATE billing.budget SET limit_amount = ${limit}::numeric, thresholds = ${thresholds}::int2[], set_by = ${setBy},
      operator_limit = ${operatorLimit}::numeric WHERE id = ${row.id}::uuid`;
}

interface NewBudget {
  counted: Target;
  period: BudgetPeriod;
  timeZone: string;
  startDay: number;
  limit: string;
  thresholds: readonly number[];
  window: BudgetWindow;
  createOnly: boolean;
  before: SpentBefore;
  level: Level;
}

/** Writes a budget with what its window has spent and holds: a new row, or one whose windows change. */
async function beginBudget(tx: Prisma.TransactionClient, budget: NewBudget, row: BudgetRow | undefined): Promise<void> {
  const { counted, timeZone, startDay, limit, thresholds, window, before, level } = budget;
  const spent = String(await countSpentSince(tx, counted, window, before));
  const held = String(await countHeld(tx, counted, window));
  if (!row) return addBudget(tx, budget, randomUUID(), { spent, held });
  const [start, end] = boundsOf(window);
  const { setBy, operatorLimit } = operatorLimitAfter(row, { limit, level });
  await tx.$executeRaw`UPDATE billing.budget SET set_by = ${setBy}, operator_limit = ${operatorLimit}::numeric, time_zone = ${timeZone}, start_day = ${startDay}::int2, limit_amount = ${limit}::numeric, spent = ${spent}::numeric,
      held = ${held}::numeric, thresholds = ${thresholds}::int2[], passed = 0, window_start = ${start}::timestamptz,
      window_end = ${end}::timestamptz WHERE id = ${row.id}::uuid`;
}

async function addBudget(
  tx: Prisma.TransactionClient,
  { counted, period, timeZone, startDay, limit, thresholds, window, level }: Omit<NewBudget, 'before' | 'createOnly'>,
  budgetId: string,
  { spent, held }: { spent: string; held: string },
): Promise<void> {
  const { accountId, projectId, keyId, dimension, value, unit } = counted;
  const [start, end] = boundsOf(window);
  const budgets = await tx.$queryRaw<{ count: number }[]>`SELECT budget_count AS count FROM billing.account WHERE id = ${accountId}::uuid`;
  if ((budgets[0]?.count ?? 0) >= BUDGETS_MAX) {
    throw new ServiceError('conflict', `The account has ${BUDGETS_MAX} budgets, which is the most.`, 'accountId');
  }
  await tx.$executeRaw`INSERT INTO billing.budget
      (id, account_id, project_id, key_id, dimension, value, period, time_zone, limit_amount, spent, held, window_start, window_end,
        thresholds, start_day, unit, set_by)
    VALUES (${budgetId}::uuid, ${accountId}::uuid, ${projectId}::uuid, ${keyId}::uuid, ${dimension}, ${value}, ${period}, ${timeZone},
      ${limit}::numeric, ${spent}::numeric, ${held}::numeric, ${start}::timestamptz, ${end}::timestamptz,
      ${thresholds}::int2[], ${startDay}::int2, ${unit}, ${level})`;
}

function boundsOf({ windowStart, windowEnd }: BudgetWindow): [start: string, end: string] {
  return [renderMoment(windowStart) ?? '-infinity', renderMoment(windowEnd) ?? 'infinity'];
}

function thresholdsOf({ thresholds }: BudgetSetRequest): number[] | undefined {
  return thresholds && [...new Set(thresholds)].sort((a, b) => a - b);
}

/** Writes the events of the thresholds that a change of the budget has passed. One whose window is over has spent nothing in the next. */
async function passThresholds(tx: Prisma.TransactionClient, row: BudgetRow, now: number): Promise<void> {
  const budget = budgetState(row);
  if (budget.windowEnd <= now) return;
  for (const percent of newlyPassed(budget, budget.spent)) {
    const payload = JSON.stringify({ percent, ...payloadOf(budget, budget.spent) });
    await tx.$executeRaw`INSERT INTO billing.money_event (account_id, kind, payload)
      VALUES (${budget.accountId}::uuid, 'budget-threshold', ${payload}::jsonb)`;
  }
  await tx.$executeRaw`UPDATE billing.budget SET passed = ${highestReached(budget)}::int2 WHERE id = ${row.id}::uuid`;
}

/** Lists the budgets of an account: its own, then those of its projects and keys. Throws `ServiceError('not_found')`. */
export async function listBudgets(prisma: PrismaClient, { accountId, budgetId }: BudgetListRequest): Promise<BudgetListReply> {
  const one = budgetId === undefined ? Prisma.empty : Prisma.sql`AND id = ${budgetId}::uuid`;
  const rows = await prisma.$queryRaw<BudgetRow[]>`${SELECT_BUDGET} WHERE b.account_id = ${accountId}::uuid ${one}
    ORDER BY project_id NULLS FIRST, key_id NULLS FIRST, dimension NULLS FIRST, unit DESC, limit_amount, id`;
  if (rows.length === 0) await requireAccount(prisma, accountId);
  if (rows.length === 0 && budgetId !== undefined) throw new ServiceError('not_found', 'The account has no such budget.', 'budgetId');
  return { budgets: rows.map((row) => renderBudget(row, row.now)) };
}

/**
 * Removes a budget and returns it.
 * @throws {ServiceError} `not_found`; `permission_denied` for a customer and a budget of the operator.
 */
export async function removeBudget(prisma: PrismaClient, budgetId: string, author: Author = OWN_AUTHOR): Promise<Budget> {
  return audited(prisma, 'billing', author, async (tx) => {
    const read = async () => (await tx.$queryRaw<BudgetRow[]>`${SELECT_BUDGET} WHERE id = ${budgetId}::uuid`)[0];
    const found = await read();
    const now = found && (await lockAccount(tx, found.account_id));
    const row = await read();
    if (!row || now === undefined) throw new ServiceError('not_found', 'There is no such budget.', 'budgetId');
    requireRemovable(row, levelOf(author));
    await tx.$executeRaw`DELETE FROM billing.budget WHERE id = ${budgetId}::uuid`;
    return { result: renderBudget(row, now), change: changeOf(row, undefined) };
  });
}

/** A row of `SELECT_BUDGET`: the limit as text, times in milliseconds. */
interface BudgetRow extends BudgetColumns {
  limit: string;
  /** Null: none. */
  window_start: number | null;
  window_end: number | null;
  created_at: Date;
  set_by: Level;
  /** Null: the limit. */
  operator_limit: string | null;
  /** The database's clock. */
  now: number;
}

const SELECT_BUDGET = Prisma.sql`SELECT id, b.account_id, project_id, key_id, dimension, b.value, period, time_zone, start_day, unit, limit_amount::text AS limit,
    set_by, operator_limit::text AS operator_limit,
    coalesce(v.spent, b.spent)::text AS spent, coalesce(v.held, b.held)::text AS held, thresholds, passed,
    CASE WHEN isfinite(window_start) THEN (extract(epoch FROM window_start) * 1000)::float8 END AS window_start,
    CASE WHEN isfinite(b.window_end) THEN (extract(epoch FROM b.window_end) * 1000)::float8 END AS window_end, created_at,
    floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now
  FROM billing.budget b
    LEFT JOIN billing.budget_value v ON v.budget_id = b.id AND v.window_end = b.window_end AND v.value = b.value`;

async function findBudget(
  tx: Prisma.TransactionClient,
  { accountId, projectId, keyId, dimension, value, unit }: Target,
  period: BudgetPeriod,
) {
  const rows = await tx.$queryRaw<BudgetRow[]>`${SELECT_BUDGET} WHERE b.account_id = ${accountId}::uuid
    AND project_id IS NOT DISTINCT FROM ${projectId}::uuid AND key_id IS NOT DISTINCT FROM ${keyId}::uuid AND period = ${period}
    AND unit = ${unit} AND dimension IS NOT DISTINCT FROM ${dimension} AND b.value IS NOT DISTINCT FROM ${value}`;
  return rows[0];
}

/** Locks the account, and returns the database's clock. */
async function lockAccount(tx: Prisma.TransactionClient, accountId: string): Promise<number> {
  await tx.$queryRaw`SELECT FROM billing.account WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`;
  return clockOf(tx);
}

async function clockOf(tx: Prisma.TransactionClient): Promise<number> {
  const rows = await tx.$queryRaw<{ now: number }[]>`SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now`;
  return rows[0]?.now ?? Number.NaN;
}

/** The requests that a budget counts. */
interface Target extends Counted {
  dimension: string | null;
  value: string | null;
}

/** Returns the target of a request. The budget of a key has the project of the key, and is of the first key of its rotations. */
async function targetOf(prisma: PrismaClient, request: BudgetSetRequest): Promise<Target> {
  const { accountId, projectId, keyId } = request;
  const unit: BudgetUnit = request.limitTokens === undefined ? 'usd' : 'tokens';
  const values = { unit, dimension: request.dimension ?? null, value: request.value ?? null };
  await requireAccount(prisma, accountId);
  if (keyId !== undefined) {
    const key = await prisma.apiKey.findFirst({ where: { id: keyId, project: { accountId, id: projectId } } });
    if (!key) throw new ServiceError('not_found', 'The account has no such key.', 'keyId');
    return { accountId, projectId: key.projectId, keyId: key.rootKeyId ?? keyId, ...values };
  }
  if (projectId === undefined) return { accountId, projectId: null, keyId: null, ...values };
  const project = await prisma.project.findFirst({ where: { id: projectId, accountId } });
  if (!project) throw new ServiceError('not_found', 'The account has no such project.', 'projectId');
  return { accountId, projectId, keyId: null, ...values };
}

function budgetState(row: BudgetRow): BudgetState {
  return {
    ...{ budgetId: row.id, accountId: row.account_id, projectId: row.project_id, keyId: row.key_id, period: row.period },
    ...(row.dimension !== null && { dimension: row.dimension }),
    ...(row.value !== null && { value: row.value }),
    ...{ timeZone: row.time_zone, startDay: row.start_day, unit: row.unit },
    ...{ limit: BigInt(row.limit), spent: BigInt(row.spent), held: BigInt(row.held) },
    ...{ windowStart: row.window_start ?? Number.NEGATIVE_INFINITY, windowEnd: row.window_end ?? Number.POSITIVE_INFINITY },
    ...{ thresholds: row.thresholds, passed: row.passed },
  };
}

/** Renders a budget as of `now`. One whose window is over has nothing spent or held in the next, which the next request begins. */
function renderBudget(row: BudgetRow, now: number): Budget {
  const { windowStart, windowEnd } = budgetState(row);
  const isOver = windowEnd <= now;
  const window = isOver ? windowAt(row.period, row.time_zone, now, row.start_day) : { windowStart, windowEnd };
  return {
    budgetId: row.id,
    accountId: row.account_id,
    projectId: row.project_id,
    keyId: row.key_id,
    dimension: row.dimension,
    value: row.value,
    period: row.period,
    timeZone: row.time_zone,
    startDay: row.start_day,
    unit: row.unit,
    ...inUnit(row.unit, { limit: row.limit, spent: isOver ? '0' : row.spent, held: isOver ? '0' : row.held }),
    thresholds: row.thresholds,
    ...(row.set_by === 'customer' && { setBy: row.set_by }),
    ...(row.operator_limit !== null && inUnit(row.unit, { operatorLimit: row.operator_limit })),
    windowStart: renderMoment(window.windowStart),
    resetsAt: renderMoment(window.windowEnd),
    createdAt: row.created_at.toISOString(),
  };
}

/** Returns the audit entry of a change: the settings of the budget, without what is spent. Null when nothing has changed. */
function changeOf(before: BudgetRow | undefined, after: BudgetRow | undefined) {
  const { id, account_id: accountId } = (after ?? before) as BudgetRow;
  const action = !before ? 'budget.create' : after ? 'budget.update' : 'budget.remove';
  const change = { action, accountId, target: `budget/${id}`, reason: null };
  if (!before || !after) return { ...change, before: before ? settingsOf(before) : null, after: after ? settingsOf(after) : null };
  const absent = { setBy: undefined, operatorLimitPicoUsd: undefined, operatorLimitTokens: undefined };
  const changed = changedFields({ ...absent, ...settingsOf(before) }, settingsOf(after));
  return changed && { ...change, ...changed };
}

function settingsOf(row: BudgetRow): Record<string, unknown> {
  const {
    id: budgetId,
    account_id: accountId,
    project_id: projectId,
    key_id: keyId,
    dimension,
    value,
    period,
    time_zone: timeZone,
    start_day: startDay,
    unit,
    limit,
    thresholds,
    set_by: setBy,
    operator_limit: operatorLimit,
  } = row;
  const values = { ...(dimension !== null && { dimension }), ...(value !== null && { value }) };
  const of = { budgetId, accountId, projectId, keyId, ...values, period, timeZone, startDay };
  return {
    ...of,
    ...inUnit(unit, { limit }),
    thresholds,
    ...(setBy === 'customer' && { setBy }),
    ...(operatorLimit !== null && inUnit(unit, { operatorLimit })),
  };
}
