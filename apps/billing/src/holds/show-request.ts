import type { Attribution } from '#contracts/billing/attribution.js';
import type { SettleReason, Settler } from '#contracts/billing/holds.js';
import type { BilledRequest, CostParts, RequestCreditNote, RequestSettlement } from '#contracts/billing/requests.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { ownTraceId } from '#tracing/trace-context.js';
import type { PriceRules } from '../batch/price-rules.js';
import { toUsage } from './usage-columns.js';

/**
 * Returns everything the ledger knows of one request, running or settled.
 * @throws {ServiceError} `not_found` when the request never had a hold.
 */
export async function showRequest(prisma: PrismaClient, requestId: string): Promise<BilledRequest> {
  const request = await readRequest(prisma, requestId);
  if (!request) throw noSuchRequest();
  return request;
}

/** As `showRequest`. Undefined: it never had a hold. */
export async function readRequest(prisma: PrismaClient, requestId: string): Promise<BilledRequest | undefined> {
  const hold = await prisma.hold.findFirst({ where: { requestId }, orderBy: { createdAt: 'desc' } });
  if (hold) return runningRequest(hold);
  const settlement = await prisma.settlement.findFirst({ where: { requestId }, orderBy: { settledAt: 'desc' }, include: { late: true } });
  if (!settlement) return undefined;
  const notes = await prisma.movement.findMany({ where: { noteOf: settlement.holdId }, orderBy: [{ createdAt: 'asc' }, { id: 'asc' }] });
  return { ...settledRequest(settlement), creditNotes: notes.map(creditNote) };
}

function creditNote({ idempotencyKey, amount, reason, createdAt }: Prisma.MovementModel): RequestCreditNote {
  return {
    noteId: idempotencyKey.slice('note:'.length),
    amountPicoUsd: amount.toFixed(0),
    reason: reason ?? '',
    createdAt: createdAt.toISOString(),
  };
}

export function noSuchRequest(): ServiceError {
  return new ServiceError('not_found', 'No request with this id has held money.', 'requestId');
}

function runningRequest(hold: Prisma.HoldModel): BilledRequest {
  return {
    ...requestFields(hold),
    holdId: hold.id,
    upstream: null,
    heldPicoUsd: String(hold.amount),
    reservedAt: hold.createdAt.toISOString(),
    settlement: null,
    creditNotes: [],
  };
}

type LateRow = Prisma.LateSettlementModel;
type Row = Prisma.SettlementModel & { late: LateRow | null };

function settledRequest(row: Row): Omit<BilledRequest, 'creditNotes'> {
  return {
    ...requestFields(row),
    holdId: row.holdId,
    upstream: (row.late ?? row).upstream,
    heldPicoUsd: String(row.held),
    reservedAt: (row.reservedAt ?? row.settledAt).toISOString(),
    settlement: row.late ? lateSettlement(row, row.late) : settlementInTime(row),
  };
}

/** Tombstones lack these columns, but have no request id to be found by. */
function requestFields(
  row: Prisma.HoldModel | Prisma.SettlementModel,
): Pick<BilledRequest, 'requestId' | 'traceId' | 'accountId' | 'projectId' | 'keyId' | 'model' | 'attribution' | 'price'> {
  return {
    requestId: row.requestId ?? '',
    traceId: row.traceId?.replaceAll('-', '') ?? ownTraceId(row.requestId ?? '') ?? null,
    accountId: row.accountId,
    projectId: row.projectId ?? '',
    keyId: row.keyId ?? '',
    model: row.model ?? '',
    attribution: (row.attribution ?? {}) as Attribution,
    price: {
      version: row.priceVersion ?? 0,
      inputPicoUsd: String(row.inputPrice ?? 0),
      cachedInputPicoUsd: String(row.cachedInputPrice ?? 0),
      ...(row.cacheWritePrice !== null && { cacheWritePicoUsd: String(row.cacheWritePrice) }),
      ...(row.cacheWrite1hPrice !== null && { cacheWrite1hPicoUsd: String(row.cacheWrite1hPrice) }),
      outputPicoUsd: String(row.outputPrice ?? 0),
      ...(row.requestPrice !== null && { requestPicoUsd: String(row.requestPrice) }),
      ...(row.imagePrice !== null && { imagePicoUsd: String(row.imagePrice) }),
      ...(row.priceRules as PriceRules | null),
      ...(row.images !== null && row.images > 0 && { images: row.images }),
      ...(row.pricePlan !== null && { pricePlan: row.pricePlan }),
    },
  };
}

function settlementInTime(row: Prisma.SettlementModel): RequestSettlement {
  return { ...settlementFields(row), costPicoUsd: String(row.cost), paid: splitCost(row), writtenOffPicoUsd: '0', reaped: null };
}

/** A late settlement replaces the bill of the reaper: it charged or returned the difference. */
function lateSettlement(row: Prisma.SettlementModel, late: LateRow): RequestSettlement {
  return {
    ...settlementFields(late),
    costPicoUsd: String(row.cost + late.due - late.writeoff),
    paid: splitCost(row, late),
    writtenOffPicoUsd: String(late.writeoff),
    reaped: {
      usage: toUsage(row),
      ...appliedStep(row),
      costPicoUsd: String(row.cost),
      paid: splitCost(row),
      settledAt: row.settledAt.toISOString(),
    },
  };
}

/**
 * Returns what plan, top-up and an ended plan paid, after the changes of a late settlement. What it gave back without a live grant to take it
 * is forfeited: plan money that paid is then no part of the cost, that of an ended plan first.
 */
function splitCost(row: Prisma.SettlementModel, late?: LateRow): CostParts {
  const forfeit = late?.forfeit ?? 0n;
  const fromEnded = forfeit < row.endedCost ? forfeit : row.endedCost;
  return {
    planPicoUsd: String(row.planCost + (late?.planCost ?? 0n) - (forfeit - fromEnded)),
    topupPicoUsd: String(row.topupCost + (late?.topupCost ?? 0n)),
    endedPlanPicoUsd: String(row.endedCost - fromEnded),
  };
}

function settlementFields(
  last: Prisma.SettlementModel | LateRow,
): Pick<RequestSettlement, 'reason' | 'settledBy' | 'usage' | 'step' | 'overPicoUsd' | 'settledAt'> {
  const reason = last.reason as SettleReason;
  return {
    reason,
    settledBy: reason === 'lease-expired' ? 'reaper' : (last.settledBy as Settler | null),
    usage: toUsage(last),
    ...appliedStep(last),
    overPicoUsd: last.over.toFixed(0),
    settledAt: last.settledAt.toISOString(),
  };
}

function appliedStep({ priceStep }: Pick<LateRow, 'priceStep'>): Pick<RequestSettlement, 'step'> {
  return priceStep === null ? {} : { step: priceStep };
}
