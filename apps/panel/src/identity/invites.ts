import { randomUUIDv7 } from 'node:crypto';
import type { Author } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import type { CreatedInvite, Invite, InviteAcceptBody, InviteListReply, InviteView, Role } from '../api/shapes/identity.js';
import { authorAs, journaled } from '../audit/journaled.js';
import { newestFirst, type PageQuery, pageOf } from '../http/page.js';
import { PanelError } from '../http/panel-error.js';
import { EMAIL_ADDRESS } from './email-address.js';
import { checkRoleFits, lockRoles, setRole } from './grants.js';
import { checkNewPassword, type Passwords } from './passwords.js';
import { digestOf, makeSecret } from './secret.js';
import { type Client, endSessions, type Sessions } from './sessions.js';
import type { SignIn } from './sign-in.js';

const INVITE_MS = 24 * 3_600_000;

interface NewInvite {
  /** Absent: the person who opens the link types it. */
  email?: string;
  accountId: string | null;
  role: Role;
  /** True for an operator's invite, which sets a new password for a person who exists already. */
  setsPassword: boolean;
}

/** One-time links that give a person a role. The token is after `#`, so that no server, proxy or log gets it. */
export class Invites {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly passwords: Passwords,
    private readonly sessions: Sessions,
    private readonly signIn: SignIn,
    private readonly panelUrl: string,
  ) {}

  /** Makes a link. An open invite of the same e-mail for the same role ends. */
  async create({ email: typed, accountId, role, setsPassword }: NewInvite, author: Author): Promise<CreatedInvite> {
    const email = typed === undefined ? null : emailOf(typed);
    if (email === null && !this.passwords.isOn)
      throw new PanelError('invalid_request', 'email is missing: while passwords are off, the provider must know it', { param: 'email' });
    checkRoleFits(role, accountId);
    const secret = makeSecret();
    const now = new Date();
    const expiresAt = new Date(now.getTime() + INVITE_MS);
    const scope = { email, accountId, role };
    const row = await journaled(this.prisma, author, async (tx, record) => {
      await tx.panelInvite.deleteMany({ where: { ...scope, acceptedAt: null } });
      const id = randomUUIDv7();
      const data = { id, digest: digestOf(secret), ...scope, setsPassword, invitedBy: author.caller.actor, createdAt: now, expiresAt };
      await record({ action: 'invite.create', accountId, target: `invite/${id}`, after: { email, role } });
      return tx.panelInvite.create({ data });
    });
    return { ...renderInvite(row), link: `${this.panelUrl}/panel/welcome#${secret}` };
  }

  /** Open invites of the accounts, or of all and the platform, newest first. */
  async list(accounts: 'all' | string[], page: PageQuery): Promise<InviteListReply> {
    const open = { acceptedAt: null, expiresAt: { gt: new Date() } };
    const where = { ...open, ...(accounts !== 'all' && { accountId: { in: accounts } }) };
    const { rows, nextCursor } = pageOf(await this.prisma.panelInvite.findMany({ where, ...newestFirst(page) }), page);
    return { invites: rows.map(renderInvite), nextCursor };
  }

  /** @throws {PanelError} `not_found` */
  async withdraw(inviteId: string, mayWithdraw: (accountId: string | null) => void, author: Author): Promise<void> {
    await journaled(this.prisma, author, async (tx, record) => {
      const row = await tx.panelInvite.findFirst({ where: { id: inviteId, acceptedAt: null } });
      if (!row) throw new PanelError('not_found', 'There is no such open invite.');
      mayWithdraw(row.accountId);
      await tx.panelInvite.delete({ where: { id: inviteId } });
      const { accountId, email, role } = row;
      await record({ action: 'invite.withdraw', accountId, target: `invite/${inviteId}`, before: { email, role } });
    });
  }

  async show(token: string): Promise<InviteView> {
    const invite = await this.find(token);
    const { email, accountId, role, expiresAt } = invite;
    const user = email === null ? null : await this.prisma.panelUser.findUnique({ where: { email } });
    return { email, accountId, role: role as Role, expiresAt: expiresAt.toISOString(), password: this.passwordOf(invite, user) };
  }

  private passwordOf({ setsPassword }: Prisma.PanelInviteModel, user: Prisma.PanelUserModel | null): InviteView['password'] {
    if (!this.passwords.isOn) return 'none';
    if (!user) return 'new';
    if (setsPassword) return 'new-password';
    return user.passwordHash === null ? 'none' : 'sign-in';
  }

  /**
   * Gives the role to the person and signs them in. Returns the session's secret and the person's id. A link works once.
   * @throws {PanelError} `not_found` for a link that is unknown, used or over; `invalid_credentials` for a person who exists;
   * `permission_denied` while passwords are off
   */
  async accept(body: InviteAcceptBody, client: Client, author: Author): Promise<{ secret: string; userId: string }> {
    this.passwords.demandOn();
    const invite = await this.find(body.token);
    const email = invite.email ?? emailOf(body.email ?? '');
    const existing = await this.prisma.panelUser.findUnique({ where: { email } });
    if (existing?.disabledAt) throw new PanelError('permission_denied', 'This person is disabled.');
    // A link that names no e-mail must not take over the person whose e-mail is typed.
    const keepsPassword = existing !== null && !(invite.setsPassword && invite.email !== null);
    if (keepsPassword) await this.signIn.verify(email, body.password, client.address, author);
    else checkNewPassword(body.password, email);
    const passwordHash = keepsPassword ? existing.passwordHash : await this.passwords.hash(body.password);
    return journaled(this.prisma, author, async (tx, record) => {
      await lockRoles(tx);
      const userId = existing?.id ?? randomUUIDv7();
      const claimed = await tx.panelInvite.updateMany({
        where: { id: invite.id, acceptedAt: null },
        data: { acceptedAt: new Date(), acceptedBy: existing?.id },
      });
      if (claimed.count === 0) throw overLink();
      if (!existing) await tx.panelUser.create({ data: { id: userId, email, name: body.name ?? email.replace(/@.*/, ''), passwordHash } });
      else if (!keepsPassword) await tx.panelUser.update({ where: { id: userId }, data: { passwordHash } });
      const before = await setRole(tx, userId, invite.accountId, invite.role as Role);
      if (existing) await endSessions(tx, userId);
      const { id: sessionId, secret } = await this.sessions.start(tx, userId, client);
      const person = authorAs(author, userId, email);
      const after = { invite: invite.id, role: invite.role, ...(existing && !keepsPassword && { password: 'changed' }) };
      const entry = { accountId: invite.accountId, target: `user/${userId}`, before: { role: before }, after };
      await record({ action: 'invite.accept', ...entry }, person);
      await record({ action: 'session.start', target: `session/${sessionId}` }, person);
      return { secret, userId };
    });
  }

  private async find(token: string): Promise<Prisma.PanelInviteModel> {
    const invite = await this.prisma.panelInvite.findUnique({ where: { digest: digestOf(token) } });
    if (!invite || invite.acceptedAt !== null || invite.expiresAt <= new Date()) throw overLink();
    return invite;
  }
}

function overLink(): PanelError {
  return new PanelError('not_found', 'This link was used before, or its 24 hours are over. Ask for another.');
}

function emailOf(typed: string): string {
  const email = typed.trim().toLowerCase();
  if (!EMAIL_ADDRESS.test(email)) throw new PanelError('invalid_request', 'email must be an e-mail address', { param: 'email' });
  return email;
}

function renderInvite(row: Prisma.PanelInviteModel): Invite {
  const { id: inviteId, email, accountId, role, invitedBy, createdAt, expiresAt } = row;
  return {
    inviteId,
    email,
    accountId,
    role: role as Role,
    invitedBy,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
}
