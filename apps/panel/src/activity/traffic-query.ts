import { ArrayMaxSize, ArrayUnique, IsArray, IsIn, IsOptional } from 'class-validator';
import { Id, Instant, Text } from '#contracts/billing/fields.js';
import type { TrafficGroup, TrafficStep } from '../shapes/traffic.js';

const TRAFFIC_STEPS: readonly TrafficStep[] = ['minute', 'hour', 'day'];
export const TRAFFIC_GROUPS: readonly TrafficGroup[] = ['account', 'project', 'key', 'model'];

export class TrafficQuery {
  /** Absent: the whole platform. */
  @IsOptional() @Id() accountId?: string;
  /** Start, included. */
  @Instant() from!: string;
  /** End, excluded; at most 366 days after `from`. Default: now. */
  @IsOptional() @Instant() to?: string;
  /** One row per minute, hour or day in UTC. Minutes are kept for two days. Default: one for the whole time. */
  @IsOptional() @IsIn(TRAFFIC_STEPS) step?: TrafficStep;
  /** One row per value of each, separated by commas. Default: all together. */
  @IsOptional() @IsArray() @ArrayMaxSize(4) @ArrayUnique() @IsIn(TRAFFIC_GROUPS, { each: true }) groupBy?: TrafficGroup[];
  /** Only this project, key or model. */
  @IsOptional() @Id() projectId?: string;
  @IsOptional() @Id() keyId?: string;
  @IsOptional() @Text(256) model?: string;
}
