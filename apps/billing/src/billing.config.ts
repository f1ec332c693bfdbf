import { IsBoolean, IsInt, IsString, Matches, Max, Min, MinLength } from 'class-validator';
import { ServiceConfig } from '#config/service-config.js';

/** Settings of the billing service, each from the variable of the same name in capitals. */
export class BillingConfig extends ServiceConfig {
  @IsString() @Matches(/^postgres(ql)?:\/\//, { message: 'must be a postgres:// URL' }) databaseUrl = '';
  /** The secret under which keys are stored. The same for all replicas, for ever: another one makes every key unknown. */
  @IsString() @MinLength(32, { message: 'must be at least 32 characters' }) keyPepper = '';
  /** Batches under way at once, each on a connection of its own; an account always has the same lane. */
  @IsInt() @Min(1) @Max(64) lanes = 4;
  @IsInt() @Min(1) @Max(2_048) batchMax = 512;
  /** Requests that may wait for a batch in one lane; more are refused at once. */
  @IsInt() @Min(1) @Max(100_000) queueMax = 4_096;
  /** How many of them may be one account's, so that nobody fills a lane for all. */
  @IsInt() @Min(1) @Max(100_000) accountQueueMax = 1_024;
  /** How long a request may wait while the database is away, and a reserve for its batch. */
  @IsInt() @Min(100) @Max(60_000) applyDeadlineMs = 3_000;
  /** How long a hold lives without being renewed. */
  @IsInt() @Min(1_000) @Max(3_600_000) leaseMs = 60_000;
  @IsInt() @Min(50) @Max(600_000) reaperIntervalMs = 5_000;
  /** How long after its lease a hold is left alone: whoever was settling it late may still come. */
  @IsInt() @Min(0) @Max(3_600_000) reaperGraceMs = 30_000;
  @IsInt() @Min(100) @Max(3_600_000) planSweepIntervalMs = 60_000;
  /** How often the ledger is checked, by one replica at a time. 0: never. */
  @IsInt() @Min(0) @Max(86_400_000) ledgerCheckIntervalMs = 300_000;
  /** The longest one statement of a check may run. */
  @IsInt() @Min(1_000) @Max(3_600_000) ledgerCheckTimeoutMs = 300_000;
  /** Whether every settlement is published. It costs about a tenth of what a settlement does, whoever listens. */
  @IsBoolean() holdSettledEvents = false;
  /** Limits of new projects that name none. */
  @IsInt() @Min(1) @Max(1_000_000) requestsPerMinuteDefault = 600;
  @IsInt() @Min(1) @Max(100_000) concurrencyDefault = 100;
}
