import { randomUUIDv7 } from 'node:crypto';
import type { Author } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { journaled, type WriteEntry } from '../audit/journaled.js';
import { PanelError } from '../errors/panel-error.js';
import type { Caller } from '../requests/panel-request.js';
import type { Session } from '../shapes/identity.js';
import { lockRoles, toAccess } from './grants.js';
import { withdrawAll } from './open-invites.js';
import { lockPerson } from './person-lock.js';
import { computeDigest, makeSecret } from './secret.js';
import { noteAddress } from './throttle.js';
import { revokeTokens } from './tokens.js';

/** Milliseconds without a request after which a session ends. */
const IDLE_MS = 30 * 60_000;
/** Milliseconds after the sign-in at which a session ends. */
const ABSOLUTE_MS = 12 * 3_600_000;
/** Requests of one minute write `seen_at` once. */
const SEEN_MS = 60_000;

/** Sessions of a person. One who signs in for each request would fill the table. */
const SESSIONS_MAX = 20;

const USER_AGENT_MAX = 300;

/** `confirmedAt` of a session whose person a provider has vouched for without saying when it asked them. */
export const NEVER_CONFIRMED = new Date(0);

/** A client as the list of sessions shows it. */
export interface Client {
  address: string;
  userAgent: string | undefined;
}

/** Sessions of signed-in people. The cookie has the secret, the database its digest. */
export class Sessions {
  constructor(private readonly prisma: PrismaClient) {}

  /**
   * Starts a session, and ends the longest unused ones beyond `SESSIONS_MAX`. Call after `lockPerson`. `record`: in the name of the person.
   * `confirmedAt`: when they proved who they are. Returns its secret.
   */
  async start(
    tx: Prisma.TransactionClient,
    userId: string,
    { address, userAgent }: Client,
    record: WriteEntry,
    confirmedAt = new Date(),
  ): Promise<{ id: string; secret: string }> {
    const now = new Date();
    await deleteOver(tx, userId);
    await endBeyondMax(tx, userId, record);
    const secret = makeSecret();
    const id = randomUUIDv7();
    const times = { createdAt: now, confirmedAt, seenAt: now };
    const client = { address, userAgent: userAgent?.slice(0, USER_AGENT_MAX) };
    await noteAddress(tx, userId, address, now);
    await tx.panelSession.create({ data: { id, digest: computeDigest(secret), userId, ...client, ...times } });
    return { id, secret };
  }

  /** Returns the caller of a session; undefined when it is unknown, over, or of a disabled person. With `isUse` it counts as used. */
  async find(secret: string, isUse = true): Promise<Caller | undefined> {
    const now = new Date();
    const session = await this.prisma.panelSession.findUnique({
      where: { digest: computeDigest(secret) },
      include: { user: { include: { grants: true } } },
    });
    if (!session || isOver(session, now) || session.user.disabledAt !== null) return undefined;
    if (isUse && session.seenAt < before(now, SEEN_MS)) {
      await this.prisma.panelSession.updateMany({
        where: { id: session.id, seenAt: { lt: before(now, SEEN_MS) } },
        data: { seenAt: now },
      });
    }
    const { user } = session;
    return {
      actor: `user/${user.id}`,
      actorName: user.email,
      userId: user.id,
      access: toAccess(user.grants),
      session: { id: session.id, confirmedAt: session.confirmedAt },
    };
  }

  /** Returns those of the sessions that are not over. */
  async alive(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.prisma.panelSession.findMany({ where: { id: { in: [...ids] } } });
    const now = new Date();
    return new Set(rows.filter((row) => !isOver(row, now)).map(({ id }) => id));
  }

  /** Gives a session a new secret after its person confirmed the password. The old secret ends. Returns the new one. @throws {PanelError} */
  async confirm(tx: Prisma.TransactionClient, sessionId: string): Promise<string> {
    const secret = makeSecret();
    const data = { digest: computeDigest(secret), confirmedAt: new Date() };
    const { count } = await tx.panelSession.updateMany({ where: { id: sessionId }, data });
    if (count === 0) throw new PanelError('authentication_required', 'The session is over.');
    return secret;
  }

  /** Returns the person's sessions that are not over, newest first. */
  async list(userId: string, currentId: string | undefined): Promise<Session[]> {
    const rows = await this.prisma.panelSession.findMany({ where: { userId }, orderBy: { createdAt: 'desc' } });
    return rows.filter((row) => !isOver(row, new Date())).map((row) => renderSession(row, currentId));
  }

  /** Ends one session of a person. @throws {PanelError} `not_found` */
  async end(userId: string, sessionId: string, author: Author): Promise<void> {
    await journaled(this.prisma, author, async (tx, record) => {
      await deleteOver(tx, userId);
      const { count } = await tx.panelSession.deleteMany({ where: { id: sessionId, userId } });
      if (count === 0) throw new PanelError('not_found', 'There is no such session.');
      await record({ action: 'session.end', target: `session/${sessionId}` });
    });
  }

  /** Ends all sessions of a person, except the one that is given. Returns their number. */
  async endAll(userId: string, author: Author, except?: string): Promise<number> {
    return journaled(this.prisma, author, async (tx, record) => {
      const sessionsEnded = await endSessions(tx, userId, except);
      if (sessionsEnded > 0) await record({ action: 'session.end-all', target: `user/${userId}`, after: { sessionsEnded } });
      return sessionsEnded;
    });
  }

  /** Ends a person's sessions and, unless tokens are kept, tokens and open invites. Returns the numbers of the first two. */
  async endAccess(userId: string, keepsTokens: boolean, author: Author): Promise<EndedAccess> {
    return journaled(this.prisma, author, async (tx, record) => {
      await lockRoles(tx);
      const ended = keepsTokens
        ? { sessionsEnded: await endSessions(tx, userId), tokensEnded: 0 }
        : await endAccess(tx, userId, record, 'all sessions were ended');
      const { sessionsEnded, tokensEnded } = ended;
      if (sessionsEnded + tokensEnded > 0) await record({ action: 'session.end-all', target: `user/${userId}`, after: { ...ended } });
      return ended;
    });
  }
}

function renderSession(row: Prisma.PanelSessionModel, currentId: string | undefined): Session {
  return {
    sessionId: row.id,
    createdAt: row.createdAt.toISOString(),
    confirmedAt: row.confirmedAt > NEVER_CONFIRMED ? row.confirmedAt.toISOString() : null,
    seenAt: row.seenAt.toISOString(),
    expiresAt: new Date(row.createdAt.getTime() + ABSOLUTE_MS).toISOString(),
    address: row.address,
    userAgent: row.userAgent,
    isCurrent: row.id === currentId,
  };
}

/** Sessions and tokens of a person that no longer work. */
export interface EndedAccess {
  sessionsEnded: number;
  tokensEnded: number;
}

/**
 * Ends all that another may hold who has been in the place of this person: sessions, tokens, open invites, and the addresses that are known
 * as theirs. `reason`: of the rows of tokens and invites in the journal. Call after `lockRoles`.
 */
export async function endAccess(tx: Prisma.TransactionClient, userId: string, record: WriteEntry, reason: string): Promise<EndedAccess> {
  await lockPerson(tx, userId);
  await tx.panelSignInAddress.deleteMany({ where: { userId } });
  await withdrawAll(tx, record, userId, reason);
  return { sessionsEnded: await endSessions(tx, userId), tokensEnded: await revokeTokens(tx, userId, record, reason) };
}

/** Ends a person's sessions, except the one that is given. Returns the number of those that were not over. */
export async function endSessions(tx: Prisma.TransactionClient, userId: string, except?: string): Promise<number> {
  await lockPerson(tx, userId);
  await deleteOver(tx, userId);
  const { count } = await tx.panelSession.deleteMany({ where: { userId, ...(except !== undefined && { id: { not: except } }) } });
  return count;
}

/** Leaves room for one more session. */
async function endBeyondMax(tx: Prisma.TransactionClient, userId: string, record: WriteEntry): Promise<void> {
  const order = { orderBy: [{ seenAt: 'desc' as const }, { id: 'desc' as const }], skip: SESSIONS_MAX - 1 };
  const beyond = await tx.panelSession.findMany({ where: { userId }, ...order, select: { id: true } });
  await tx.panelSession.deleteMany({ where: { id: { in: beyond.map(({ id }) => id) } } });
  const reason = `a person has at most ${SESSIONS_MAX} sessions`;
  for (const { id } of beyond) await record({ action: 'session.end', target: `session/${id}`, reason });
}

/** Deletes the sessions of a person that are over, as `isOver` says. */
async function deleteOver(tx: Prisma.TransactionClient, userId: string): Promise<void> {
  const now = new Date();
  const over = { OR: [{ createdAt: { lt: before(now, ABSOLUTE_MS) } }, { seenAt: { lt: before(now, IDLE_MS) } }] };
  await tx.panelSession.deleteMany({ where: { userId, ...over } });
}

function isOver({ createdAt, seenAt }: { createdAt: Date; seenAt: Date }, now: Date): boolean {
  return createdAt < before(now, ABSOLUTE_MS) || seenAt < before(now, IDLE_MS);
}

function before(now: Date, milliseconds: number): Date {
  return new Date(now.getTime() - milliseconds);
}
