import { randomUUID } from 'node:crypto';
import {
  type Account,
  type AccountCreateRequest,
  type AccountListReply,
  type AccountListRequest,
  type AccountStatus,
  type AccountUpdateRequest,
  type NextPricePlan,
  pricePlanAt,
} from '#contracts/billing/accounts.js';
import type { Balance } from '#contracts/billing/money.js';
import { ServiceError } from '#contracts/service-error.js';
import { audited, changedFields } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { parseUsd, picoUsd, renderUsd } from '#money/pico-usd.js';
import { OWN_AUTHOR } from '../audit/own-author.js';
import { readBalances } from '../balance/read-balance.js';
import { demandOwnId } from '../limits/own-id.js';
import { NO_LIMITS, type ShownLimits, setLimits, toLimits } from '../limits/set-limits.js';
import { addMarks, listManagedAccounts } from '../managed/marks.js';
import { oldestFirst, readPage } from '../paging/read-page.js';
import { searchIn } from '../paging/search.js';
import { isDuplicate } from './prisma-errors.js';

/** Most projects and active keys of a new account. */
interface Maxima {
  projectsMax: number;
  keysMax: number;
}

/** The limits that all projects of an account share, of the rows with its limits. */
export const OWN_LIMITS = { limits: { where: { projectId: null } } } as const;

/**
 * Opens an account. A repeated request with the same id and name returns the same account.
 * @throws {ServiceError} `conflict` when the id belongs to an account with another name.
 */
export async function createAccount(
  prisma: PrismaClient,
  request: AccountCreateRequest,
  author = OWN_AUTHOR,
  maxima?: Maxima,
): Promise<Account> {
  const id = request.accountId ?? randomUUID();
  try {
    return await audited(prisma, 'billing', author, async (tx) => {
      const account = renderAccount(await tx.account.create({ data: { id, name: request.name, ...maxima } }), NO_LIMITS);
      await demandOwnId(tx, id, 'accountId');
      return { result: account, change: { ...describeChange('account.create', account, null), before: null, after: { ...account } } };
    });
  } catch (error) {
    if (!isDuplicate(error)) throw error;
    const existing = await prisma.account.findUniqueOrThrow({ where: { id }, include: OWN_LIMITS });
    if (existing.name === request.name) return renderStoredAccount(existing);
    throw new ServiceError('conflict', 'There is an account with this id and another name.', 'accountId', { cause: error });
  }
}

/**
 * Changes the given fields. A frozen account is refused from its next reserve on.
 * @throws {ServiceError} `not_found`; `conflict` with the amounts for a credit line below what is used or held of it.
 */
export async function updateAccount(prisma: PrismaClient, request: AccountUpdateRequest, author = OWN_AUTHOR): Promise<Account> {
  const { accountId: id, name, status, statusReason, lowBalanceUsd, creditLineUsd, pricePlan, pricePlanFrom } = request;
  const { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits, projectsMax, activeKeysMax: keysMax } = request;
  if (statusReason && status !== 'frozen') {
    throw new ServiceError('invalid_request', 'statusReason needs the status frozen.', 'statusReason');
  }
  if (pricePlanFrom !== undefined && (pricePlan === undefined || Date.parse(pricePlanFrom) <= Date.now())) {
    throw new ServiceError('invalid_request', 'pricePlanFrom must be in the future, and needs pricePlan.', 'pricePlanFrom');
  }
  const data = {
    ...(name && { name }),
    ...(status && { status, statusReason: statusReason ?? null }),
    ...(lowBalanceUsd && { lowBalance: parseThreshold(lowBalanceUsd) }),
    ...(creditLineUsd && { creditLine: String(parseUsd(creditLineUsd)) }),
    ...{ projectsMax, keysMax },
  };
  return audited(prisma, 'billing', author, async (tx) => {
    // Locked first, so that `before` is the row that this change replaces.
    const [locked] = await tx.$queryRaw<{ used: string }[]>`
      SELECT (topup_held - topup)::text AS used FROM billing.account WHERE id = ${id}::uuid FOR NO KEY UPDATE`;
    const row = await tx.account.findUnique({ where: { id }, include: OWN_LIMITS });
    if (!row) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
    if (data.creditLine) refuseBelow(BigInt(locked?.used ?? 0), BigInt(data.creditLine));
    const plans = pricePlan === undefined ? {} : renderPlans(row, pricePlan, pricePlanFrom);
    const changes = { requestsPerMinuteMax, concurrencyMax, tokensPerMinuteMax, modelLimits };
    const limits = await setLimits(tx, { accountId: id, projectId: null, keyId: null }, changes, 'operator');
    const account = renderAccount(await tx.account.update({ where: { id }, data: { ...data, ...plans } }), limits);
    const changed = changedFields({ modelLimits: undefined, ...renderStoredAccount(row) }, account);
    return { result: account, change: changed && { ...describeChange('account.update', account, statusReason ?? null), ...changed } };
  });
}

/** Used and held money stays covered: no change makes a balance negative. */
function refuseBelow(used: bigint, creditLine: bigint): void {
  if (creditLine >= used) return;
  throw new ServiceError(
    'conflict',
    `The credit line cannot be $${renderUsd(picoUsd(creditLine))}: $${renderUsd(picoUsd(used))} of it is used or held.`,
    'creditLineUsd',
    { details: { requestedPicoUsd: String(creditLine), usedPicoUsd: String(used) } },
  );
}

function describeChange(action: string, { accountId }: Account, reason: string | null) {
  return { action, accountId, target: `account/${accountId}`, reason };
}

/** Lists all accounts, or the one with `accountId`; oldest first. */
export async function listAccounts(prisma: PrismaClient, request: AccountListRequest): Promise<AccountListReply> {
  const { accountId, managedBy, search } = request;
  const owned = managedBy === undefined ? undefined : await listManagedAccounts(prisma, managedBy);
  const where = { ...(accountId && { id: accountId }), ...(owned && { AND: { id: { in: owned } } }), ...searchIn(search, ['name']) };
  const { rows, nextCursor } = await readPage(['accounts', accountId, managedBy, search], request, (page) =>
    prisma.account.findMany({ where, include: OWN_LIMITS, orderBy: [...oldestFirst], ...page }),
  );
  const balances = await readBalances(
    prisma,
    rows.map(({ id }) => id),
  );
  const findBalance = (id: string): Balance => {
    const { expiredHeld: _, ...balance } = balances.get(id) as Balance & { expiredHeld: string };
    return balance;
  };
  const accounts = rows.map((row) => ({ ...renderStoredAccount(row), balance: findBalance(row.id) }));
  return { accounts: await addMarks(prisma, 'account', accounts, ({ accountId }) => accountId), nextCursor };
}

const FROZEN_MAX = 200;

/** Returns the frozen accounts, oldest first. */
export async function listFrozenAccounts(prisma: PrismaClient): Promise<Account[]> {
  const rows = await prisma.account.findMany({
    where: { status: 'frozen' },
    include: OWN_LIMITS,
    orderBy: [...oldestFirst],
    take: FROZEN_MAX,
  });
  return rows.map(renderStoredAccount);
}

/** Throws `ServiceError('not_found')` when the account does not exist. */
export async function requireAccount(prisma: PrismaClient, accountId: string): Promise<void> {
  const account = await prisma.account.findUnique({ where: { id: accountId }, select: { id: true } });
  if (!account) throw new ServiceError('not_found', 'There is no such account.', 'accountId');
}

/** Returns the columns for a plan that counts at once, or from a time on: until then it is the one that is in force now. */
function renderPlans(row: Prisma.AccountModel, pricePlan: string | null, from: string | undefined) {
  if (from === undefined) return { pricePlan, nextPlan: null, nextPlanFrom: null };
  const inForce = pricePlanAt({ pricePlan: row.pricePlan, nextPricePlan: toNextPlan(row) }, Date.now());
  return { pricePlan: inForce, nextPlan: pricePlan, nextPlanFrom: new Date(from) };
}

function toNextPlan({ nextPlan: pricePlan, nextPlanFrom: from }: Prisma.AccountModel): NextPricePlan | null {
  return from && { pricePlan, from: from.toISOString() };
}

/** Returns null for zero, since no balance is below it. */
function parseThreshold(usd: string): string | null {
  const amount = parseUsd(usd);
  return amount === 0n ? null : String(amount);
}

export function renderStoredAccount({ limits, ...row }: Prisma.AccountModel & { limits: Prisma.RateLimitModel[] }): Account {
  return renderAccount(row, toLimits(limits[0]));
}

function renderAccount(row: Prisma.AccountModel, { operatorLimits: _, modelLimits, ...limits }: ShownLimits): Account {
  return {
    accountId: row.id,
    name: row.name,
    status: row.status as AccountStatus,
    statusReason: row.statusReason,
    lowBalancePicoUsd: row.lowBalance?.toFixed(0) ?? null,
    creditLinePicoUsd: row.creditLine.isZero() ? null : row.creditLine.toFixed(0),
    pricePlan: row.pricePlan,
    nextPricePlan: toNextPlan(row),
    ...limits,
    ...(modelLimits && { modelLimits: [...modelLimits] }),
    projectsMax: row.projectsMax,
    activeKeysMax: row.keysMax,
    createdAt: row.createdAt.toISOString(),
  };
}
