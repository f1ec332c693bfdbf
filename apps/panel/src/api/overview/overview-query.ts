import { IsOptional } from 'class-validator';
import { Id, Instant } from '#contracts/billing/fields.js';

export class OverviewQuery {
  /** Absent: the whole platform. */
  @IsOptional() @Id() accountId?: string;
  /** Start, included. Default: 24 hours before `to`. */
  @IsOptional() @Instant() from?: string;
  /** End, excluded. Default: now. */
  @IsOptional() @Instant() to?: string;
}
