import { Controller, Inject } from '@nestjs/common';
import { MonthCloseRequest, MonthReadRequest, monthClose, monthList, monthRead } from '#contracts/billing/months.js';
import { ServiceError } from '#contracts/service-error.js';
import type { CallContext } from '#messaging/messaging.js';
import { Serves } from '#messaging/serves.js';
import type { Logger } from '#observability/logger.js';
import { orUnavailable } from '../accounts/database-refusal.js';
import { Months } from '../months/months.js';
import { LOGGER } from './injected.js';

@Controller()
export class MonthsController {
  constructor(
    private readonly months: Months,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Serves(monthClose)
  async close({ month }: MonthCloseRequest, { caller }: CallContext) {
    try {
      return await this.months.close(month, { caller, logger: this.logger });
    } catch (cause) {
      if (cause instanceof ServiceError) throw cause;
      const message = 'The month was not closed: the database is away, took too long, or is being changed.';
      throw new ServiceError('unavailable', message, undefined, { cause });
    }
  }

  @Serves(monthList)
  async list() {
    return orUnavailable(this.months.list());
  }

  @Serves(monthRead)
  async read(request: MonthReadRequest) {
    return orUnavailable(this.months.read(request));
  }
}
