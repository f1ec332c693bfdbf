import type { NestExpressApplication } from '@nestjs/platform-express';
import pg from 'pg';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import request from 'supertest';
import { JournalReads } from '#database/journal-reads.js';
import { createPrismaClient, type PrismaClient } from '#database/prisma-client.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { createTestDatabase } from '#testing/test-database.js';
import { journaled } from '../src/audit/journaled.js';
import { API_PREFIX } from '../src/http/routes.js';
import { Invites } from '../src/identity/invites.js';
import { Sessions } from '../src/identity/sessions.js';
import type { SsoProviderConfig } from '../src/identity/sso/sso-provider.config.js';
import { SIGN_INS_AT_ONCE } from '../src/identity/turns.js';
import { PanelConfig } from '../src/panel.config.js';
import type { Permission, Role } from '../src/shapes/identity.js';
import { createPanel } from '../src/start-panel.js';

export const PANEL_URL = 'http://127.0.0.1:8081';
export const PASSWORD = 'a quiet orange river';

/** A folder that does not exist: the pages are not built for these tests. */
const NO_PAGES = '/nonexistent/pages';

/** The author of an operator's command. */
export const OPERATOR = { caller: { actor: 'cli/test@host', actorName: null, via: 'cli', ip: null, requestId: null } };

/** A signed-in person. */
export interface SignedIn {
  userId: string;
  email: string;
  /** Value of the `cookie` header. */
  cookie: string;
}

export interface Sent {
  method?: string;
  body?: object;
  cookie?: string;
  token?: string;
  headers?: Record<string, string>;
}

/** The panel on a database of its own. Its other services are answered by the test. */
export class PanelFixture {
  private people = 0;

  private constructor(
    readonly app: NestExpressApplication,
    readonly messaging: FakeMessaging,
    readonly prisma: PrismaClient,
    /** The owner of the database. */
    readonly sql: pg.Client,
    /** Log lines since the start. */
    readonly log: Record<string, unknown>[],
    readonly close: () => Promise<void>,
  ) {}

  static async open(
    settings: Partial<PanelConfig> = {},
    providers: ReadonlyMap<string, SsoProviderConfig> = new Map(),
  ): Promise<PanelFixture> {
    const database = await createTestDatabase();
    const prisma = createPrismaClient({ url: database.serviceUrls.panel, applicationName: 'test' });
    const signIns = createPrismaClient({ url: database.serviceUrls.panel, applicationName: 'test', connectionsMax: SIGN_INS_AT_ONCE });
    // The first query loads Prisma's engine, which may take longer on a busy machine than a transaction waits for its start.
    await Promise.all([prisma, signIns].map((client) => client.$queryRaw`SELECT`));
    const sql = new pg.Client({ connectionString: database.url });
    await sql.connect();
    const messaging = new FakeMessaging();
    const log: Record<string, unknown>[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void log.push(JSON.parse(line)) });
    const config = Object.assign(new PanelConfig(), { panelUrl: PANEL_URL, personRequestsPerSecond: 10_000, ...settings });
    const reads = new JournalReads(prisma, { runningMax: 3, shareMax: 1 });
    const processServices = ['panel', 'billing'];
    const app = await createPanel(
      { config, logger, prisma, signIns, reads, messaging, providers, processServices },
      new Registry(),
      NO_PAGES,
    );
    await app.listen(0, '127.0.0.1');
    return new PanelFixture(app, messaging, prisma, sql, log, async () => {
      await app.close();
      await Promise.all([prisma.$disconnect(), signIns.$disconnect()]);
      await sql.end();
      await database.drop();
    });
  }

  /** Sends a request to the API as the panel's own pages do. */
  async send(path: string, { method = 'GET', body, cookie, token, headers = {} }: Sent = {}): Promise<request.Response> {
    if (path.includes('/live')) return this.open(path, { cookie, token, headers });
    const call = request(this.app.getHttpServer())[method.toLowerCase() as 'get'](API_PREFIX + path);
    if (method !== 'GET') call.set('origin', PANEL_URL);
    if (cookie) call.set('cookie', cookie);
    if (token) call.set('authorization', `Bearer ${token}`);
    call.set(headers);
    return body === undefined ? call : call.send(body);
  }

  /** Takes the head of a stream of events, or an error. */
  private async open(path: string, { cookie, token, headers }: Sent): Promise<request.Response> {
    const credentials = { ...(cookie && { cookie }), ...(token && { authorization: `Bearer ${token}` }) };
    const reply = await fetch((await this.app.getUrl()) + API_PREFIX + path, { headers: { ...credentials, ...headers } });
    const isStream = reply.headers.get('content-type')?.startsWith('text/event-stream');
    const body = isStream ? await reply.body?.cancel() : await reply.json();
    return { status: reply.status, headers: Object.fromEntries(reply.headers), body } as request.Response;
  }

  /** Starts another session of a person. Returns the `cookie` header. */
  async session({ userId }: SignedIn): Promise<string> {
    const sessions = this.app.get(Sessions);
    const client = { address: '192.0.2.1', userAgent: 'test' };
    const { secret } = await journaled(this.prisma, OPERATOR, (tx, record) => sessions.start(tx, userId, client, record));
    return `tollgate=${secret}`;
  }

  /** Makes a token of a person. Returns the token. */
  async token({ cookie }: SignedIn, permissions: Permission[], accountId?: string): Promise<string> {
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const reply = await this.send('/tokens', { method: 'POST', cookie, body: { name: 'test', accountId, permissions, expiresAt } });
    if (reply.status !== 201) throw new Error(`no token: ${reply.text}`);
    return reply.body.token;
  }

  /** Runs a statement that changes people or rights, with the row of the journal that the database demands. */
  async change(statement: string): Promise<void> {
    await this.sql.query(
      `BEGIN; SELECT panel.record_audit('{"actor":"test"}', 'test', NULL, 'test', NULL, NULL, NULL); ${statement}; COMMIT`,
    );
  }

  /** Returns the journal's rows of an action, without ids, times and addresses. */
  async journal(action: string): Promise<Record<string, unknown>[]> {
    const rows = await this.prisma.panelAudit.findMany({ where: { action }, orderBy: { id: 'asc' } });
    return rows.map(({ id: _, at: __, ip: ___, requestId: ____, ...row }) => row);
  }

  /** Makes a link of the operator. Returns its token. */
  async invite(role: Role, accountId: string | null = null, email?: string, projectId: string | null = null): Promise<string> {
    const { link } = await this.app.get(Invites).create({ email, accountId, projectId, role, setsPassword: true }, OPERATOR);
    return link.replace(/^.*#/, '');
  }

  /** Signs in a new person with a role. */
  async person(role: Role, accountId: string | null = null, projectId: string | null = null): Promise<SignedIn> {
    const email = `${role}${++this.people}@example.com`;
    const token = await this.invite(role, accountId, email, projectId);
    const reply = await this.send('/invites/accept', { method: 'POST', body: { token, password: PASSWORD } });
    if (reply.status !== 201) throw new Error(`no person: ${reply.text}`);
    return { userId: reply.body.userId, email, cookie: readCookie(reply) };
  }
}

/** Returns the `cookie` header that answers the reply's `set-cookie`. */
export function readCookie(reply: request.Response): string {
  return String(reply.headers['set-cookie']).split(';')[0] ?? '';
}
