import type { SettleReason } from '#contracts/billing/holds.js';
import type { BilledRequest } from '#contracts/billing/requests.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';

/** Everything the ledger knows of one request, running or settled. `not_found` if it never held money. */
export async function showRequest(prisma: PrismaClient, requestId: string): Promise<BilledRequest> {
  const hold = await prisma.hold.findFirst({ where: { requestId }, orderBy: { createdAt: 'desc' } });
  if (hold) return runningRequest(hold);
  const settlement = await prisma.settlement.findFirst({ where: { requestId }, orderBy: { settledAt: 'desc' }, include: { late: true } });
  if (settlement) return settledRequest(settlement);
  throw new ServiceError('not_found', 'No request with this id has held money.', 'requestId');
}

function runningRequest(hold: Prisma.HoldModel): BilledRequest {
  return {
    requestId: hold.requestId,
    holdId: hold.id,
    accountId: hold.accountId,
    projectId: hold.projectId,
    keyId: hold.keyId,
    model: hold.model,
    upstream: null,
    heldPicoUsd: String(hold.amount),
    price: {
      version: hold.priceVersion,
      inputPicoUsd: String(hold.inputPrice),
      cachedInputPicoUsd: String(hold.cachedInputPrice),
      outputPicoUsd: String(hold.outputPrice),
    },
    settlement: null,
  };
}

/**
 * Only tombstones lack the columns of the request, and they have no request id to be found by. A late settlement has the
 * last word on how the request ended and what it cost.
 */
function settledRequest(row: Prisma.SettlementModel & { late: Prisma.LateSettlementModel | null }): BilledRequest {
  const last = row.late ?? row;
  return {
    requestId: row.requestId ?? '',
    holdId: row.holdId,
    accountId: row.accountId,
    projectId: row.projectId ?? '',
    keyId: row.keyId ?? '',
    model: row.model ?? '',
    upstream: last.upstream,
    heldPicoUsd: String(row.held),
    price: {
      version: row.priceVersion ?? 0,
      inputPicoUsd: String(row.inputPrice ?? 0),
      cachedInputPicoUsd: String(row.cachedInputPrice ?? 0),
      outputPicoUsd: String(row.outputPrice ?? 0),
    },
    settlement: {
      reason: last.reason as SettleReason,
      usage: {
        promptTokens: last.promptTokens,
        cachedTokens: last.cachedTokens,
        outputTokens: last.outputTokens,
        reasoningTokens: last.reasoningTokens,
        source: last.usageSource === 'reported' ? 'reported' : 'estimated',
      },
      costPicoUsd: String(row.cost + (row.late ? row.late.due - row.late.writeoff : 0n)),
      settledAt: last.settledAt.toISOString(),
    },
  };
}
