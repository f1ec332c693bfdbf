import { Controller } from '@nestjs/common';
import {
  type FailedItem,
  HoldApplyRequest,
  HoldListRequest,
  HoldReleaseRequest,
  HoldRenewRequest,
  holdApply,
  holdList,
  holdRelease,
  holdRenew,
  holdReserve,
  holdSettle,
  ReserveRequest,
  SettleRequest,
} from '#contracts/billing/holds.js';
import { RequestListRequest, RequestShowRequest, requestList, requestShow } from '#contracts/billing/requests.js';
import { ServiceError } from '#contracts/service-error.js';
import { JournalReads } from '#database/journal-reads.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { nameReader } from '../accounts/name-reader.js';
import { HoldLanes } from '../batch/hold-lanes.js';
import { findRequest } from '../holds/find-request.js';
import { listHolds } from '../holds/list-holds.js';
import { listRequests } from '../holds/list-requests.js';
import { Renewals } from '../holds/renewals.js';

@Controller()
export class HoldsController {
  constructor(
    private readonly lanes: HoldLanes,
    private readonly renewals: Renewals,
    private readonly reads: JournalReads,
  ) {}

  /** Every item goes to the lane of its account: one whose lane is full or cannot reach the database fails alone, where the caller is ready for that. */
  @Serves(holdApply)
  async apply({ settles, reserves, partial }: HoldApplyRequest) {
    const alone = <Outcome>({ holdId }: { holdId: string }, outcome: Promise<Outcome>): Promise<Outcome | FailedItem> =>
      partial ? outcome.catch((error) => failedItem(holdId, error)) : outcome;
    const [settled, reserved] = await Promise.all([
      Promise.all(settles.map((settle) => alone(settle, this.lanes.settle(settle)))),
      Promise.all(reserves.map((reserve) => alone(reserve, this.lanes.reserve(reserve)))),
    ]);
    return { settles: settled, reserves: reserved };
  }

  @Serves(holdReserve)
  async reserve(request: ReserveRequest) {
    return this.lanes.reserve(request);
  }

  @Serves(holdSettle)
  async settle(request: SettleRequest) {
    return this.lanes.settle(request);
  }

  @Serves(holdRelease)
  async release({ holdId, accountId }: HoldReleaseRequest) {
    return this.lanes.settle({ holdId, accountId, reason: 'released' });
  }

  @Serves(holdRenew)
  async renew(request: HoldRenewRequest) {
    return this.renewals.renew(request);
  }

  @Serves(holdList)
  async list(request: HoldListRequest, { caller }: CallContext) {
    const reader = nameReader(caller, request.accountId);
    return this.reads.read(reader, [holdList.subject, request], (prisma) => listHolds(prisma, request));
  }

  @Serves(requestList)
  async listRequests(request: RequestListRequest, { caller }: CallContext) {
    const reader = nameReader(caller, request.accountId);
    return this.reads.read(reader, [requestList.subject, request], (prisma) => listRequests(prisma, request));
  }

  @Serves(requestShow)
  async show({ requestId }: RequestShowRequest, { caller }: CallContext) {
    const reader = nameReader(caller, undefined);
    return this.reads.read(reader, [requestShow.subject, requestId], (prisma) => findRequest(prisma, requestId));
  }
}

function failedItem(holdId: string, error: unknown): FailedItem {
  if (!(error instanceof ServiceError)) throw error;
  return { status: 'failed', holdId, code: error.code, message: error.message };
}
