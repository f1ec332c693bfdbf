import { IsBoolean, IsInt, IsString, Matches, Max, Min, MinLength } from 'class-validator';
import { IsPostgresUrl } from '#database/postgres-url.js';
import { ForwardProxyConfig } from '#network/forward-proxy/forward-proxy.config.js';

const SIGNING_KEY = /^(none|.{32,})$/;
const PANEL_URL = /^none$|^https?:\/\/[^/?#@\s]+$/;

/** Settings of the billing service. The name of a variable is the name of its field in capitals. */
export class BillingConfig extends ForwardProxyConfig {
  @IsPostgresUrl() databaseUrl = '';
  /** Secret of the stored key digests. It must be the same on all replicas and never change: another secret makes every key unknown. */
  @IsString() @MinLength(32, { message: 'must be at least 32 characters' }) keyPepper = '';
  /** Secret of the key that signs closed months for receipts. `none`: no month is signed. Another secret is another key; old ones stay published. */
  @Matches(SIGNING_KEY, { message: 'must be none or at least 32 characters' }) receiptSigningKey = 'none';
  /** Concurrent batches, each on its own connection. An account always uses the same lane. */
  @IsInt() @Min(1) @Max(64) lanes = 4;
  @IsInt() @Min(1) @Max(2_048) batchMax = 512;
  /** Requests that may wait in one lane; more are refused at once. */
  @IsInt() @Min(1) @Max(100_000) queueMax = 4_096;
  /** Waiting requests of one account, so that no account can fill a lane. */
  @IsInt() @Min(1) @Max(100_000) accountQueueMax = 1_024;
  /** Milliseconds that a request may wait while the database is away, and a reserve for its batch. */
  @IsInt() @Min(100) @Max(60_000) applyDeadlineMs = 3_000;
  /** Milliseconds until a hold expires unless it is renewed. */
  @IsInt() @Min(1_000) @Max(3_600_000) leaseMs = 60_000;
  @IsInt() @Min(50) @Max(600_000) reaperIntervalMs = 5_000;
  /** Milliseconds from the end of a lease until the reaper ends the hold, in which a late settle may still arrive. */
  @IsInt() @Min(0) @Max(3_600_000) reaperGraceMs = 30_000;
  @IsInt() @Min(100) @Max(3_600_000) planSweepIntervalMs = 60_000;
  /** Milliseconds between ledger checks, by one replica at a time. 0: never. */
  @IsInt() @Min(0) @Max(86_400_000) ledgerCheckIntervalMs = 300_000;
  /** Milliseconds that one statement of a check may run. */
  @IsInt() @Min(1_000) @Max(3_600_000) ledgerCheckTimeoutMs = 300_000;
  /** Milliseconds between additions of the journal to the rollups of usage, by one replica at a time. */
  @IsInt() @Min(100) @Max(3_600_000) usageCloseIntervalMs = 30_000;
  /** Reads of usage, requests and journals that run at once, each on a connection of their own pool. */
  @IsInt() @Min(3) @Max(64) journalReadsMax = 6;
  /** Such reads of one account that run at once. */
  @IsInt() @Min(1) @Max(64) accountJournalReadsMax = 2;
  /** Milliseconds that one statement of such a read may run. */
  @IsInt() @Min(1_000) @Max(60_000) journalReadTimeoutMs = 10_000;
  /** Milliseconds between rounds of one replica that deliver money events: about the longest that one waits. */
  @IsInt() @Min(50) @Max(60_000) eventIntervalMs = 500;
  /** Origin at which browsers reach the panel, for the links of messages to chats. `none`: they have no link. */
  @Matches(PANEL_URL, { message: 'must be none or an origin such as https://panel.example.com' }) panelUrl = 'none';
  /** True to publish every settlement, which costs about a tenth of the settlement itself. */
  @IsBoolean() holdSettledEvents = false;
  /** Limits of new projects that name none. */
  @IsInt() @Min(1) @Max(1_000_000) requestsPerMinuteDefault = 600;
  @IsInt() @Min(1) @Max(100_000) concurrencyDefault = 100;
  /** Most projects and active keys of new accounts. */
  @IsInt() @Min(1) @Max(100_000) projectsMaxDefault = 100;
  @IsInt() @Min(1) @Max(1_000_000) activeKeysMaxDefault = 1_000;

  /** Secret and link of messages to webhooks. */
  get messageSettings(): { pepper: string; panelUrl: string | null } {
    return { pepper: this.keyPepper, panelUrl: this.panelUrl === 'none' ? null : this.panelUrl };
  }
}
