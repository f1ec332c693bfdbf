import { Controller, Inject } from '@nestjs/common';
import {
  OwnKeyReceiptRequest,
  ownKeyReceipt,
  ReceiptListRequest,
  ReceiptMonthRequest,
  ReceiptShowRequest,
  receiptKeys,
  receiptList,
  receiptMonth,
  receiptShow,
} from '#contracts/billing/receipts.js';
import { JournalReads } from '#database/journal-reads.js';
import type { PrismaClient } from '#database/prisma-client.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import { nameReader } from '../accounts/name-reader.js';
import { findRequest } from '../holds/find-request.js';
import { readKeyAccount, showOwnRequest } from '../keys/own-key.js';
import { Receipts } from '../receipts/receipts.js';
import { PRISMA } from './injected.js';

@Controller()
export class ReceiptsController {
  constructor(
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    private readonly receipts: Receipts,
    private readonly reads: JournalReads,
  ) {}

  @Serves(receiptKeys)
  async keys() {
    return this.receipts.listKeys();
  }

  @Serves(receiptShow)
  async show({ requestId }: ReceiptShowRequest, { caller }: CallContext) {
    return this.reads.read(nameReader(caller, undefined), [receiptShow.subject, requestId], async (prisma) =>
      this.receipts.show(prisma, await findRequest(prisma, requestId)),
    );
  }

  @Serves(receiptList)
  async list(request: ReceiptListRequest, { caller }: CallContext) {
    return this.reads.read(nameReader(caller, request.accountId), [receiptList.subject, request], (prisma) =>
      this.receipts.list(prisma, request),
    );
  }

  @Serves(receiptMonth)
  async month({ accountId, month }: ReceiptMonthRequest) {
    return { receipts: await this.receipts.sumUp(accountId, month) };
  }

  @Serves(ownKeyReceipt)
  async showOwn(request: OwnKeyReceiptRequest) {
    const accountId = await readKeyAccount(this.prisma, request.keyId);
    return this.reads.read(accountId, [ownKeyReceipt.subject, request], async (prisma) =>
      this.receipts.show(prisma, await showOwnRequest(prisma, request)),
    );
  }
}
