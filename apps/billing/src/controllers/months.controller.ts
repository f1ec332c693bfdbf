import { Controller, Inject } from '@nestjs/common';
import {
  MonthAttachRequest,
  MonthCloseRequest,
  MonthDetachRequest,
  MonthReadRequest,
  monthAttach,
  monthClose,
  monthDetach,
  monthList,
  monthRead,
} from '#contracts/billing/months.js';
import { ServiceError } from '#contracts/service-error.js';
import { JournalReads, OPERATOR } from '#database/journal-reads.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { Months } from '../months/months.js';
import { LOGGER } from './injected.js';

@Controller()
export class MonthsController {
  constructor(
    private readonly months: Months,
    private readonly reads: JournalReads,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Serves(monthClose)
  async close({ month }: MonthCloseRequest, { caller }: CallContext) {
    return orNotDone('closed', this.months.close(month, { caller, logger: this.logger }));
  }

  @Serves(monthDetach)
  async detach({ month }: MonthDetachRequest, { caller }: CallContext) {
    return orNotDone('detached', this.months.detach(month, { caller, logger: this.logger }));
  }

  @Serves(monthAttach)
  async attach({ month }: MonthAttachRequest, { caller }: CallContext) {
    return orNotDone('attached', this.months.attach(month, { caller, logger: this.logger }));
  }

  @Serves(monthList)
  async list() {
    return this.reads.read(OPERATOR, [monthList.subject], (prisma) => this.months.list(prisma));
  }

  @Serves(monthRead)
  async read(request: MonthReadRequest) {
    return this.reads.read(OPERATOR, [monthRead.subject, request], (prisma) => this.months.read(request, prisma));
  }
}

async function orNotDone<Reply>(what: string, reply: Promise<Reply>): Promise<Reply> {
  try {
    return await reply;
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    const message = `The month was not ${what}: the database is away, took too long, or is being changed.`;
    throw new ServiceError('unavailable', message, undefined, { cause });
  }
}
