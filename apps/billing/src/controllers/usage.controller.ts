import { Controller, Inject } from '@nestjs/common';
import { UsageQueryRequest, usageQuery, usageRebuild } from '#contracts/billing/usage.js';
import { ServiceError } from '#contracts/service-error.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { Serves } from '#messaging/serves.js';
import { orUnavailable } from '../accounts/database-refusal.js';
import { queryUsage } from '../usage/query-usage.js';
import { UsageCloser } from '../usage/usage-closer.js';
import { PRISMA } from './injected.js';

@Controller()
export class UsageController {
  constructor(
    @Inject(PRISMA) private readonly prisma: PrismaClient,
    private readonly usageCloser: UsageCloser,
  ) {}

  @Serves(usageQuery)
  async query(request: UsageQueryRequest) {
    return orUnavailable(queryUsage(this.prisma, request));
  }

  @Serves(usageRebuild)
  async rebuild() {
    try {
      return await this.usageCloser.rebuild();
    } catch (cause) {
      throw new ServiceError(
        'unavailable',
        'The rollups were not rebuilt: the database is away, took too long, or is being changed.',
        undefined,
        {
          cause,
        },
      );
    }
  }
}
