import { randomUUID } from 'node:crypto';
import { CHILD } from '#contracts/billing/attribution.js';
import type {
  Budget,
  BudgetListReply,
  BudgetListRequest,
  BudgetPeriod,
  BudgetRemoveRequest,
  BudgetSetRequest,
  BudgetUnit,
} from '#contracts/billing/budgets.js';
import { START_DAYS } from '#contracts/rules/bounds.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, audited } from '#database/audit-journal.js';
import { Prisma, type PrismaClient } from '#database/prisma-client.js';
import { parsePicoUsd, renderUsd } from '#money/pico-usd.js';
import { requireAccount } from '../accounts/accounts.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { type BudgetWindow, isTimeZone, isWithin } from '../calendar/budget-window.js';
import { findLevel, type Level } from '../limits/operator-limits.js';
import { addMarks } from '../managed/marks.js';
import {
  type BudgetSettings,
  budgetState,
  budgetWindowAt,
  highestReached,
  isPerValue,
  newlyPassed,
  renderMoment,
  renderPayload,
} from './budget.js';
import { type Counted, countHeld, countSpent, countSpentSince, type SpentBefore } from './count-spent.js';
import { addSpentValues, addValuesSince } from './count-values.js';
import { BUDGET_PARAM, operatorLimitAfter, requireRemovable, requireSettable } from './operator-budgets.js';
import { markRefusing } from './read-refusals.js';
import { describeChange, renderBudget, STORED_COLUMNS, type StoredBudget } from './stored-budget.js';

/** Batches read all budgets of an account. */
const BUDGETS_MAX = 1_000;
const DEFAULTS: BudgetSettings = { timeZone: 'UTC', startDay: 1, thresholds: [50, 80, 100] };
/** The database's clock in milliseconds. */
const CLOCK = Prisma.sql`floor(extract(epoch FROM clock_timestamp()) * 1000)::float8`;

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
  checkBudget(request);
  const { period } = request;
  const counted = await readTarget(prisma, request);
  // Read before the lock, so that the window is counted before it too. Read again under the lock: `findSettable`.
  const known = await findBudget(prisma, counted, period);
  const settings = settingsAfter(known, request);
  const change: Change = {
    ...{ counted, period, settings, limit: String(request.limitTokens ?? request.limitPicoUsd) },
    ...{ window: budgetWindowAt({ period, ...settings }, await readClock(prisma)) },
    ...{ createOnly: request.createOnly === true, level: findLevel(author) },
  };
  if (counted.dimension !== null) return setValueBudget(prisma, change, known?.id, author);
  const spentBefore = hasWindows(known, settings) ? undefined : await countSpent(prisma, counted, change.window);
  return audited(prisma, 'billing', author, async (tx) => {
    const now = await lockAccount(tx, counted.accountId);
    const row = await findSettable(tx, change);
    if (row && hasWindows(row, settings)) return finish(tx, row, await setLimit(tx, row, change), now);
    if (!spentBefore || !isWithin(change.window, now, now)) throw changedMeanwhile();
    return finish(tx, row, await beginBudget(tx, change, spentBefore, row), now);
  });
}

/** Returns the settings of the request. Those that it does not name stay, or are the defaults for a new budget. */
function settingsAfter(known: StoredBudget | undefined, request: BudgetSetRequest): BudgetSettings {
  const { timeZone, startDay, thresholds } = known ? budgetState(known) : DEFAULTS;
  return {
    timeZone: request.timeZone ?? timeZone,
    startDay: request.startDay ?? startDay,
    thresholds: isPerValue(request) ? [] : request.thresholds ? [...new Set(request.thresholds)].sort((a, b) => a - b) : thresholds,
  };
}

/** Throws `ServiceError('invalid_request')` for fields that contradict each other, or name no time zone. */
export function checkBudget(request: BudgetSetRequest): void {
  const invalid = (message: string, param: keyof BudgetSetRequest) => new ServiceError('invalid_request', message, param);
  const { period, startDay = DEFAULTS.startDay, limitPicoUsd, limitTokens } = request;
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
  if (request.dimension === CHILD && period !== 'total') {
    throw invalid('a budget of child keys is a total: each child key has a life of its own', 'period');
  }
  if (request.dimension === CHILD && request.value !== undefined) {
    throw invalid('a child key has its own limit, which it was made with', 'value');
  }
  if (request.thresholds?.length && isPerValue(request)) {
    throw invalid('a budget of each user or each value of a tag has no thresholds', 'thresholds');
  }
}

/** True when a budget has the windows of these settings. */
function hasWindows(row: StoredBudget | undefined, { timeZone, startDay }: BudgetSettings): boolean {
  return row?.time_zone === timeZone && row.start_day === startDay;
}

/** Sets a budget of users or tags. `knownId` names the budget that was there before the account is locked. */
async function setValueBudget(prisma: PrismaClient, change: Change, knownId: string | undefined, author: Author): Promise<Budget> {
  const { counted, period, settings } = change;
  return audited(prisma, 'billing', author, async (tx) => {
    const window = period === 'total' ? { ...change.window, windowStart: await readClock(tx) } : change.window;
    const added = { ...counted, dimension: counted.dimension ?? '', budgetId: randomUUID(), window };
    // A child key begins after its budget, which it is signed for.
    const countsEarlier = knownId === undefined && counted.dimension !== CHILD;
    const snapshot = countsEarlier ? await addSpentValues(tx, added) : undefined;
    const now = await lockAccount(tx, counted.accountId);
    const row = await findSettable(tx, change);
    if (row?.id !== knownId || (!row && !isWithin(window, now, now))) throw changedMeanwhile();
    if (row && !hasWindows(row, settings)) {
      const param = row.start_day === settings.startDay ? 'timeZone' : 'startDay';
      throw new ServiceError('conflict', 'Remove the budget first: its users or tags are counted by window.', param);
    }
    if (row) return finish(tx, row, await setLimit(tx, row, change), now);
    if (snapshot !== undefined) await addValuesSince(tx, added, snapshot);
    return finish(tx, row, await addBudget(tx, { ...change, window }, added.budgetId, { spent: '0', held: '0' }), now);
  });
}

/** Reads the budget of a change under the lock of the account. Throws when the caller may not change it so. */
async function findSettable(tx: Prisma.TransactionClient, change: Change): Promise<StoredBudget | undefined> {
  const row = await findBudget(tx, change.counted, change.period);
  if (row && change.createOnly) throw existsAlready(row);
  requireSettable(row, change);
  return row;
}

async function finish(tx: Prisma.TransactionClient, before: StoredBudget | undefined, after: StoredBudget, now: number) {
  await passThresholds(tx, after, now);
  return { result: renderBudget(after, now), change: describeChange(before, after) };
}

function changedMeanwhile(): ServiceError {
  return new ServiceError('conflict', 'The budget was changed meanwhile. Try again.', BUDGET_PARAM);
}

/** Creating must not replace a limit that the caller has not seen. */
function existsAlready({ id: budgetId, unit, limit_amount: limit }: StoredBudget): ServiceError {
  const [text, details] =
    unit === 'tokens' ? [`${limit} tokens`, { limitTokens: limit }] : [`$${renderUsd(parsePicoUsd(limit))}`, { limitPicoUsd: limit }];
  const message = `There is such a budget already, with a limit of ${text}. Change it instead.`;
  return new ServiceError('conflict', message, BUDGET_PARAM, { details: { budgetId, ...details } });
}

async function setLimit(
  tx: Prisma.TransactionClient,
  row: StoredBudget,
  { limit, settings: { thresholds }, level }: Change,
): Promise<StoredBudget> {
  const { setBy, operatorLimit } = operatorLimitAfter(row, { limit, level });
  return selectCovered(
    await tx.$queryRaw<StoredBudget[]>`UPDATE billing.budget b SET limit_amount = ${limit}::numeric, thresholds = ${thresholds}::int2[],
      set_by = ${setBy}, operator_limit = ${operatorLimit}::numeric WHERE id = ${row.id}::uuid RETURNING ${STORED_COLUMNS}`,
  );
}

/** A new state for the budget of a target. */
interface Change {
  counted: Target;
  period: BudgetPeriod;
  settings: BudgetSettings;
  limit: string;
  window: BudgetWindow;
  createOnly: boolean;
  level: Level;
}

/** Writes a budget with what its window has spent and holds: a new row, or one whose windows change. */
async function beginBudget(
  tx: Prisma.TransactionClient,
  change: Change,
  spentBefore: SpentBefore,
  row: StoredBudget | undefined,
): Promise<StoredBudget> {
  const { counted, settings, limit, window, level } = change;
  const spent = String(await countSpentSince(tx, counted, window, spentBefore));
  const held = String(await countHeld(tx, counted, window));
  if (!row) return addBudget(tx, change, randomUUID(), { spent, held });
  const [start, end] = windowBounds(window);
  const { setBy, operatorLimit } = operatorLimitAfter(row, { limit, level });
  return selectCovered(
    await tx.$queryRaw<StoredBudget[]>`UPDATE billing.budget b SET set_by = ${setBy}, operator_limit = ${operatorLimit}::numeric,
      time_zone = ${settings.timeZone}, start_day = ${settings.startDay}::int2, limit_amount = ${limit}::numeric, spent = ${spent}::numeric,
      held = ${held}::numeric, thresholds = ${settings.thresholds}::int2[], passed = 0, window_start = ${start}::timestamptz,
      window_end = ${end}::timestamptz WHERE id = ${row.id}::uuid RETURNING ${STORED_COLUMNS}`,
  );
}

async function addBudget(
  tx: Prisma.TransactionClient,
  { counted, period, settings, limit, window, level }: Change,
  budgetId: string,
  { spent, held }: { spent: string; held: string },
): Promise<StoredBudget> {
  const { accountId, projectId, keyId, dimension, value, unit } = counted;
  const [start, end] = windowBounds(window);
  const budgets = await tx.$queryRaw<{ count: number }[]>`SELECT budget_count AS count FROM billing.account WHERE id = ${accountId}::uuid`;
  if ((budgets[0]?.count ?? 0) >= BUDGETS_MAX) {
    throw new ServiceError('conflict', `The account has ${BUDGETS_MAX} budgets, which is the most.`, 'accountId');
  }
  return selectCovered(
    await tx.$queryRaw<StoredBudget[]>`INSERT INTO billing.budget AS b
      (id, account_id, project_id, key_id, dimension, value, period, time_zone, limit_amount, spent, held, window_start, window_end,
        thresholds, start_day, unit, set_by)
    VALUES (${budgetId}::uuid, ${accountId}::uuid, ${projectId}::uuid, ${keyId}::uuid, ${dimension}, ${value}, ${period},
      ${settings.timeZone}, ${limit}::numeric, ${spent}::numeric, ${held}::numeric, ${start}::timestamptz, ${end}::timestamptz,
      ${settings.thresholds}::int2[], ${settings.startDay}::int2, ${unit}, ${level}) RETURNING ${STORED_COLUMNS}`,
  );
}

/** The row that a statement of one budget returns. */
function selectCovered(rows: StoredBudget[]): StoredBudget {
  return rows[0] as StoredBudget;
}

function windowBounds({ windowStart, windowEnd }: BudgetWindow): [start: string, end: string] {
  return [renderMoment(windowStart) ?? '-infinity', renderMoment(windowEnd) ?? 'infinity'];
}

/** Writes the events of the thresholds that a change of the budget has passed. One whose window is over has spent nothing in the next. */
async function passThresholds(tx: Prisma.TransactionClient, row: StoredBudget, now: number): Promise<void> {
  const budget = budgetState(row);
  if (budget.windowEnd <= now) return;
  for (const percent of newlyPassed(budget, budget.spent)) {
    const payload = JSON.stringify({ percent, ...renderPayload(budget, budget.spent) });
    await tx.$executeRaw`INSERT INTO billing.money_event (account_id, kind, payload)
      VALUES (${budget.accountId}::uuid, 'budget-threshold', ${payload}::jsonb)`;
  }
  await tx.$executeRaw`UPDATE billing.budget SET passed = ${highestReached(budget)}::int2 WHERE id = ${row.id}::uuid`;
}

/** Lists the budgets of an account: its own, then those of its projects and keys. Throws `ServiceError('not_found')`. */
export async function listBudgets(prisma: PrismaClient, { accountId, budgetId }: BudgetListRequest): Promise<BudgetListReply> {
  const one = budgetId === undefined ? Prisma.empty : Prisma.sql`AND id = ${budgetId}::uuid`;
  const rows = await prisma.$queryRaw<(StoredBudget & { now: number })[]>`SELECT ${STORED_COLUMNS}, ${CLOCK} AS now
    FROM billing.budget b WHERE b.account_id = ${accountId}::uuid ${one}
    ORDER BY project_id NULLS FIRST, key_id NULLS FIRST, dimension NULLS FIRST, unit DESC, b.limit_amount, id`;
  if (rows.length === 0) await requireAccount(prisma, accountId);
  if (rows.length === 0 && budgetId !== undefined) throw noSuchBudget();
  const rendered = rows.map((row) => renderBudget(row, row.now));
  const budgets = await addMarks(prisma, 'budget', rendered, ({ budgetId }) => budgetId);
  return { budgets: budgets.length > 0 ? await markRefusing(prisma, accountId, budgets) : budgets };
}

/**
 * Removes a budget and returns it.
 * @throws {ServiceError} `not_found`; `permission_denied` for a customer and a budget of the operator.
 */
export async function removeBudget(prisma: PrismaClient, request: BudgetRemoveRequest, author: Author = OWN_AUTHOR): Promise<Budget> {
  const { budgetId } = request;
  const accountId =
    request.accountId ?? (await prisma.budget.findUnique({ where: { id: budgetId }, select: { accountId: true } }))?.accountId;
  if (accountId === undefined) throw new ServiceError('not_found', 'There is no such budget.', 'budgetId');
  return audited(prisma, 'billing', author, async (tx) => {
    const now = await lockAccount(tx, accountId);
    const [row] = await tx.$queryRaw<StoredBudget[]>`SELECT ${STORED_COLUMNS} FROM billing.budget b
      WHERE account_id = ${accountId}::uuid AND id = ${budgetId}::uuid`;
    if (!row) throw noSuchBudget();
    requireRemovable(row, findLevel(author));
    await tx.$executeRaw`DELETE FROM billing.budget WHERE id = ${budgetId}::uuid`;
    return { result: renderBudget(row, now), change: describeChange(row, undefined) };
  });
}

function noSuchBudget(): ServiceError {
  return new ServiceError('not_found', 'The account has no such budget.', 'budgetId');
}

async function findBudget(
  tx: Prisma.TransactionClient,
  { accountId, projectId, keyId, dimension, value, unit }: Target,
  period: BudgetPeriod,
) {
  const rows = await tx.$queryRaw<StoredBudget[]>`SELECT ${STORED_COLUMNS} FROM billing.budget b WHERE account_id = ${accountId}::uuid
    AND project_id IS NOT DISTINCT FROM ${projectId}::uuid AND key_id IS NOT DISTINCT FROM ${keyId}::uuid AND period = ${period}
    AND unit = ${unit} AND dimension IS NOT DISTINCT FROM ${dimension} AND value IS NOT DISTINCT FROM ${value}`;
  return rows[0];
}

/** Locks the account, and returns the database's clock. */
async function lockAccount(tx: Prisma.TransactionClient, accountId: string): Promise<number> {
  await tx.$queryRaw`SELECT FROM billing.account WHERE id = ${accountId}::uuid FOR NO KEY UPDATE`;
  return readClock(tx);
}

async function readClock(tx: Prisma.TransactionClient): Promise<number> {
  const rows = await tx.$queryRaw<{ now: number }[]>`SELECT ${CLOCK} AS now`;
  return rows[0]?.now ?? Number.NaN;
}

/** The requests that a budget counts. */
interface Target extends Counted {
  dimension: string | null;
  value: string | null;
}

/** Returns the target of a request. The budget of a key has the project of the key, and is of the first key of its rotations. */
async function readTarget(prisma: PrismaClient, request: BudgetSetRequest): Promise<Target> {
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
