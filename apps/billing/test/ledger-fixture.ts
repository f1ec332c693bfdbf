import { randomUUID } from 'node:crypto';
import type { ReserveRequest, TokenUsage } from '#contracts/billing/holds.js';
import type { LedgerViolation } from '#contracts/billing/ledger.js';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { createPrismaClient, type PrismaClient } from '#database/prisma-client.js';
import { picoUsd } from '#money/pico-usd.js';
import { createLogger, type Logger } from '#observability/logger.js';
import { createTestDatabase, type TestDatabase } from '#testing/test-database.js';
import { LANE_SETTINGS } from '../src/batch/apply-batch.js';
import { HoldLanes, type HoldLanesOptions } from '../src/batch/hold-lanes.js';
import { checkLedger } from '../src/ledger/check-ledger.js';
import { topUp } from '../src/ledger/top-up.js';
import { closeUsage } from '../src/usage/close-usage.js';

export interface Customer {
  accountId: string;
  projectId: string;
  keyId: string;
}

/** Pico-USD per token: 1 for the prompt, 0 cached, 2 for the output. */
export const PRICE = { version: 1, inputPicoUsd: '1', cachedInputPicoUsd: '0', outputPicoUsd: '2' };
/** Milliseconds to wait for a place in a queue or pool, and for a lock. Eight racers share a pool of five, also on a busy machine. */
const WAIT_MS = 60_000;
/** Tests set the clock, and leave holds open. */
const OVERDUE_MS = 10 * 365 * 24 * 3_600_000;
export const TIMES = { leaseMs: 60_000, reaperGraceMs: 30_000 };

/** A migrated database for one test file, with customers and lanes. `close` closes everything. */
export class LedgerFixture {
  private readonly lanes: HoldLanes[] = [];
  private readonly connections: PgConnection[] = [];

  private constructor(
    private readonly database: TestDatabase,
    /** Connection of the owner, for queries of the test. */
    readonly sql: PgConnection,
    readonly prisma: PrismaClient,
    readonly logger: Logger,
  ) {}

  /** Without `guarded`, the guards of the audit journal are off: tests make and break rows by plain SQL. */
  static async open({ guarded = false } = {}): Promise<LedgerFixture> {
    const database = await createTestDatabase();
    const sql = await connectPg({ url: database.url, applicationName: 'test', statementTimeoutMs: WAIT_MS });
    if (!guarded) await sql.query('DROP FUNCTION billing.demand_audit() CASCADE');
    const waits = { connectTimeoutMs: WAIT_MS, statementTimeoutMs: WAIT_MS };
    const prisma = createPrismaClient({ url: database.serviceUrls.billing, applicationName: 'test', ...waits });
    return new LedgerFixture(database, sql, prisma, createLogger('test', 'silent'));
  }

  /** URL of the service's user. */
  get url(): string {
    return this.database.serviceUrls.billing;
  }

  get ownerUrl(): string {
    return this.database.url;
  }

  connect = async (): Promise<PgConnection> => {
    const connection = await connectPg({
      url: this.url,
      applicationName: 'test-lane',
      statementTimeoutMs: WAIT_MS,
      settings: LANE_SETTINGS,
    });
    this.connections.push(connection);
    return connection;
  };

  newLanes(options: Partial<HoldLanesOptions> = {}): HoldLanes {
    const defaults = { lanes: 2, times: TIMES, batchMax: 512, queueMax: 4_096, deadlineMs: WAIT_MS, logger: this.logger };
    const lanes = new HoldLanes({ connect: this.connect, ...defaults, ...options });
    this.lanes.push(lanes);
    return lanes;
  }

  /** Creates an account with money, one project and one key. */
  async customer(options: { topup?: bigint; requestsPerMinuteMax?: number; concurrencyMax?: number } = {}): Promise<Customer> {
    const { topup = 0n, requestsPerMinuteMax = 100_000, concurrencyMax = 100_000 } = options;
    const customer = { accountId: randomUUID(), projectId: randomUUID(), keyId: randomUUID() };
    const { accountId, projectId, keyId } = customer;
    await this.add('account', `INSERT INTO billing.account (id, name) VALUES ($1, 'test')`, [accountId]);
    await this.add(
      'project',
      `INSERT INTO billing.project (id, account_id, name, requests_per_minute_max, concurrency_max) VALUES ($1, $2, 'test', $3, $4)`,
      [projectId, accountId, requestsPerMinuteMax, concurrencyMax],
    );
    await this.add('key', `INSERT INTO billing.api_key (id, project_id, digest, last_four) VALUES ($1, $2, $3, 'abcd')`, [
      keyId,
      projectId,
      Buffer.from((randomUUID() + randomUUID()).replaceAll('-', ''), 'hex'),
    ]);
    if (topup > 0n) await topUp(this.sql, { accountId, amount: picoUsd(topup), paymentId: randomUUID() });
    return customer;
  }

  /** Inserts a row with its audit row. */
  private async add(kind: string, insert: string, values: unknown[]): Promise<void> {
    const record = `billing.record_audit('{"actor": "test"}', 'test.add', NULL, '${kind}/' || id, NULL, NULL, NULL)`;
    await this.sql.query(`WITH added AS (${insert} RETURNING id) SELECT ${record} FROM added`, values);
  }

  async account(accountId: string): Promise<Record<string, unknown>> {
    const { rows } = await this.sql.query(
      `SELECT topup::text, topup_held::text, plan::text, plan_held::text, expired::text, open_holds FROM billing.account WHERE id = $1`,
      [accountId],
    );
    return rows[0] as Record<string, unknown>;
  }

  /**
   * Adds all that was written before to the rollups. One slice may not do: transactions that tests run in other databases of the server delay
   * it.
   */
  async closeUsage(connection: PgConnection = this.sql): Promise<void> {
    const { rows } = await this.sql.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id');
    const isClosed = 'SELECT closed_to > $1::bigint AS closed FROM billing.usage_state';
    do await closeUsage(connection);
    while (!(await connection.query<{ closed: boolean }>(isClosed, [rows[0]?.id])).rows[0]?.closed);
  }

  /** Returns the violations that a ledger check finds. */
  violations = async (): Promise<LedgerViolation[]> => (await checkLedger(this.sql, OVERDUE_MS)).violations;

  /** Returns the violations that a check from the checkpoint finds, which then moves, and when the checkpoint was made. */
  sinceCheckpoint = async (): Promise<{ violations: LedgerViolation[]; madeAt: string | undefined }> => {
    const { violations } = await checkLedger(this.sql, OVERDUE_MS, { scheduled: true });
    const { rows } = await this.sql.query<{ madeAt: string }>('SELECT made_at::text AS "madeAt" FROM billing.checkpoint');
    return { violations, madeAt: rows[0]?.madeAt };
  };

  async close(): Promise<void> {
    await Promise.all(this.lanes.map((lanes) => lanes.close()));
    await Promise.all([...this.connections, this.sql].map((connection) => connection.end().catch(() => undefined)));
    await this.prisma.$disconnect();
    await this.database.drop();
  }
}

export function makeReserve(customer: Customer, amount: bigint | string, holdId: string = randomUUID()): ReserveRequest {
  return { ...customer, holdId, requestId: `req-${holdId}`, model: 'sim-fast', amountPicoUsd: String(amount), price: PRICE };
}

export function makeUsage(promptTokens: number, outputTokens = 0, cachedTokens = 0): TokenUsage {
  return { promptTokens, cachedTokens, outputTokens, reasoningTokens: 0, promptSource: 'reported', outputSource: 'reported' };
}
