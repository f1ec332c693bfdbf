import type { Balance } from '#contracts/billing/money.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { picoUsd, renderUsd } from '#money/pico-usd.js';
import { endDueGrant, type FundsRow, sumAvailable, sumBalance, toFunds } from './funds.js';

/**
 * Returns the balance at this moment, without a plan whose time is over, even if the sweep has not recorded that yet. Amounts are read as
 * text, because the decimals of Prisma round.
 * @throws {ServiceError} `not_found` for an unknown account.
 */
export async function readBalance(prisma: PrismaClient, accountId: string): Promise<Balance & { expiredHeld: string }> {
  return (await readBalances(prisma, [accountId])).get(accountId) ?? notFound();
}

/** Returns the balances by account, in one query. */
export async function readBalances(
  prisma: PrismaClient,
  accountIds: readonly string[],
): Promise<Map<string, Balance & { expiredHeld: string }>> {
  const rows = await prisma.$queryRaw<(FundsRow & { id: string; now: number })[]>`
    SELECT id::text, topup::text, topup_held::text, plan::text, plan_held::text, expired::text, grant_id::text, credit_line::text,
      extract(epoch FROM grant_ends_at)::float8 * 1000 AS grant_ends_at, extract(epoch FROM clock_timestamp())::float8 * 1000 AS now
    FROM billing.account WHERE id = ANY (${accountIds}::uuid[])`;
  return new Map(rows.map((row) => [row.id, renderBalance(row)]));
}

function notFound(): never {
  throw new ServiceError('not_found', 'There is no such account.', 'accountId');
}

function renderBalance(row: FundsRow & { now: number }): Balance & { expiredHeld: string } {
  const funds = toFunds(row);
  endDueGrant(funds, row.now);
  const total = sumBalance(funds);
  return {
    object: 'balance',
    currency: 'USD',
    balance_pico_usd: String(total),
    balance_usd: renderUsd(picoUsd(total)),
    reserved_pico_usd: String(funds.topupHeld + funds.planHeld),
    available_pico_usd: String(sumAvailable(funds)),
    topup_balance_pico_usd: String(funds.topup),
    plan_balance_pico_usd: String(funds.plan),
    plan_expires_at: funds.grant ? new Date(funds.grant.endsAt).toISOString() : null,
    ...(funds.creditLine > 0n && { credit_line_pico_usd: String(funds.creditLine) }),
    expiredHeld: String(funds.expired),
  };
}
