import { Controller, Inject } from '@nestjs/common';
import { UsageQueryRequest, usageQuery } from '#contracts/billing/usage.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { Serves } from '#messaging/serves.js';
import { orUnavailable } from '../accounts/database-refusal.js';
import { queryUsage } from '../usage/query-usage.js';
import { PRISMA } from './injected.js';

@Controller()
export class UsageController {
  constructor(@Inject(PRISMA) private readonly prisma: PrismaClient) {}

  @Serves(usageQuery)
  async query(request: UsageQueryRequest) {
    return orUnavailable(queryUsage(this.prisma, request));
  }
}
