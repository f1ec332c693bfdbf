import type { Registry } from 'prom-client';
import type { CertificateFile } from '#observability/certificate-expiry.js';
import type { Logger } from '#observability/logger.js';
import { type ReadinessCheck, untilReady } from '#observability/readiness.js';
import { JournalReads } from './journal-reads.js';
import { postgresReadiness } from './postgres-readiness.js';
import { postgresCertificates } from './postgres-url.js';
import { createPrismaClient, type PrismaClient } from './prisma-client.js';
import { schemaReadiness } from './schema-readiness.js';
import { refuseTransactionPooler } from './transaction-pooler.js';

/** A read takes one processor of the server, not three: the places count what the server has to do. */
const READS_SETTINGS = { max_parallel_workers_per_gather: '0' };

interface DatabaseOptions {
  /** Sessions have its name: `tollgate-billing`, and with that of their pool `tollgate-billing-reads`. */
  service: string;
  url: string;
  registry: Registry;
}

/** The database of a service: its pools, its readiness, and its end. */
export class ServiceDatabase {
  readonly prisma: PrismaClient;
  readonly checks: ReadinessCheck[];
  private readonly pools: PrismaClient[];

  constructor(private readonly options: DatabaseOptions) {
    const { service, url, registry } = options;
    this.prisma = createPrismaClient({ url, applicationName: `tollgate-${service}`, registry });
    this.pools = [this.prisma];
    this.checks = [postgresReadiness(this.prisma, url), schemaReadiness(this.prisma)];
  }

  /** Creates a pool beside the common one. */
  pool(name: string, limits: { connectionsMax: number; statementTimeoutMs?: number; settings?: Record<string, string> }): PrismaClient {
    const { service, url, registry } = this.options;
    const pool = createPrismaClient({ url, applicationName: `tollgate-${service}-${name}`, registry, pool: name, ...limits });
    this.pools.push(pool);
    return pool;
  }

  /** Creates the pool of reads that may scan a journal. */
  reads(limits: { runningMax: number; shareMax: number; statementTimeoutMs?: number }): JournalReads {
    const { runningMax, shareMax, ...timeout } = limits;
    return new JournalReads(this.pool('reads', { connectionsMax: runningMax, settings: READS_SETTINGS, ...timeout }), {
      runningMax,
      shareMax,
    });
  }

  /** Resolves when the service can use the database. Throws a `ConfigError` for a pooler that breaks sessions. */
  async ready(logger: Logger): Promise<void> {
    await untilReady(this.checks, logger);
    await refuseTransactionPooler(this.options.url, `tollgate-${this.options.service}`);
  }

  certificates(): CertificateFile[] {
    return postgresCertificates(this.options.url);
  }

  /** Connects all pools. Loads Prisma's engine, so that no first request waits for it. */
  async connect(): Promise<void> {
    await Promise.all(this.pools.map((pool) => pool.$connect()));
  }

  async disconnect(): Promise<void> {
    await Promise.all(this.pools.map((pool) => pool.$disconnect()));
  }
}
