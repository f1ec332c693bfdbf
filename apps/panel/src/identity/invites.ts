import { randomUUIDv7 } from 'node:crypto';
import type { Author } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { authorAs, journaled, type WriteEntry } from '../audit/journaled.js';
import { PanelError } from '../errors/panel-error.js';
import { newestFirst, type PageQuery, toPage } from '../requests/page.js';
import type { Caller } from '../requests/panel-request.js';
import type { CreatedInvite, Invite, InviteAcceptRequest, InviteListReply, InviteView, Role } from '../shapes/identity.js';
import { parseEmail } from './email-address.js';
import { checkRoleFits, describeRole, lockRoles, type Place, setRole, toAccess, toPlace } from './grants.js';
import { demandFewerInvites, withdrawBeyondRights, withdrawOpen } from './open-invites.js';
import { checkNewPassword, findWeakness, type Passwords } from './passwords.js';
import { lockCaller, lockPerson, lockVerified } from './person-lock.js';
import type { SecondFactors } from './second-factors.js';
import { computeDigest, makeSecret } from './secret.js';
import { type Client, type EndedAccess, endAccess, endSessions, type Sessions } from './sessions.js';
import type { SignIn } from './sign-in.js';

const INVITE_MS = 24 * 3_600_000;

interface NewInvite {
  /** Absent: the person who opens the link types it. */
  email?: string | undefined;
  accountId: string | null;
  /** For a role of a project, which callers have checked to be one of the account. */
  projectId?: string | null;
  role: Role;
  /** True for an operator's invite, which sets a new password for a person who exists already. */
  setsPassword: boolean;
}

/** One-time links that give a person a role. The token is after `#`, so that no server, proxy or log gets it. */
export class Invites {
  /** `signIns`: connections for people who open a link. */
  constructor(
    private readonly prisma: PrismaClient,
    private readonly signIns: PrismaClient,
    private readonly passwords: Passwords,
    private readonly sessions: Sessions,
    private readonly signIn: SignIn,
    private readonly secondFactors: SecondFactors,
    private readonly panelUrl: string,
    private readonly hasProviders: boolean,
  ) {}

  /**
   * Makes a link. An open invite of the same e-mail for the same role ends, with a row that says who had made it. `by`: absent for the
   * operator, who may make any number. @throws {PanelError} `invalid_request`, `permission_denied`, `conflict`, and as `lockCaller`
   */
  async create({ email: typed, role, setsPassword, ...of }: NewInvite, author: Author, by?: Caller): Promise<CreatedInvite> {
    const email = typed === undefined ? null : requireEmail(typed);
    if (email === null && !this.passwords.isOn)
      throw new PanelError('invalid_request', 'email is missing: while passwords are off, the provider must know it', { param: 'email' });
    const place = toPlace(of);
    const { accountId } = place;
    checkRoleFits(role, place);
    const invitedBy = author.caller.actor;
    return journaled(this.prisma, author, async (tx, record) => {
      await lockRoles(tx);
      if (by) await demandMayInvite(tx, by, accountId);
      const demandRoom = async (): Promise<void> => by && demandFewerInvites(tx, by.userId);
      return writeInvite(tx, record, { email, ...place, role, setsPassword, invitedBy }, this.panelUrl, demandRoom);
    });
  }

  /** Open invites of the accounts, or of all and the platform, newest first. */
  async list(accounts: 'all' | string[], page: PageQuery): Promise<Omit<InviteListReply, 'mail'>> {
    const open = { acceptedAt: null, expiresAt: { gt: new Date() } };
    const where = { ...open, ...(accounts !== 'all' && { accountId: { in: accounts } }) };
    const { rows, nextCursor } = toPage(await this.prisma.panelInvite.findMany({ where, ...newestFirst(page) }), page);
    return { invites: rows.map(renderInvite), nextCursor };
  }

  async isOpen(inviteId: string): Promise<boolean> {
    return (await this.prisma.panelInvite.count({ where: { id: inviteId, acceptedAt: null, expiresAt: { gt: new Date() } } })) > 0;
  }

  /** @throws {PanelError} `not_found` */
  async withdraw(inviteId: string, mayWithdraw: (accountId: string | null) => void, author: Author): Promise<void> {
    await journaled(this.prisma, author, async (tx, record) => {
      await lockRoles(tx);
      const row = await tx.panelInvite.findFirst({ where: { id: inviteId, acceptedAt: null } });
      if (!row) throw new PanelError('not_found', 'There is no such open invite.');
      mayWithdraw(row.accountId);
      await tx.panelInvite.delete({ where: { id: inviteId } });
      const { accountId, email, role } = row;
      const before = { email, ...describeRole(role, row) };
      await record({ action: 'invite.withdraw', accountId, target: `invite/${inviteId}`, before });
    });
  }

  /** Returns the invite of a link. It is the same whether the e-mail has a person or not. */
  async show(token: string): Promise<InviteView> {
    const invite = await this.find(token);
    const { email, role, expiresAt } = invite;
    const password = this.describePassword(invite);
    return { email, ...toPlace(invite), role: role as Role, expiresAt: expiresAt.toISOString(), password };
  }

  private describePassword(invite: Prisma.PanelInviteModel): InviteView['password'] {
    if (!this.passwords.isOn) return 'none';
    if (provesEmail(invite)) return 'new-password';
    return this.makesPeople(invite) ? 'new-or-present' : 'sign-in';
  }

  /** True when the link makes a person with a password. With a provider, only the operator's do: no other proves the e-mail. */
  private makesPeople({ setsPassword }: Prisma.PanelInviteModel): boolean {
    return setsPassword || !this.hasProviders;
  }

  /**
   * Gives the role to the person and signs them in. Returns the session's secret and the person's id. A link works once.
   * @throws {PanelError} `not_found` for a link that is unknown, used or over; `invalid_credentials` or
   * `second_factor_required` for a person who exists; `permission_denied` while passwords are off
   */
  async accept(body: InviteAcceptRequest, client: Client, author: Author): Promise<{ secret: string; userId: string }> {
    this.passwords.demandOn();
    const invite = await this.find(body.token);
    const email = invite.email ?? requireEmail(body.email ?? '');
    const found = await this.signIns.panelUser.findUnique({ where: { email } });
    const verified = await this.checkPassword(invite, found, email, body.password, client, author);
    const existing = verified ?? found;
    if (existing) await this.secondFactors.demand(existing, body, author);
    const password = verified ? undefined : { passwordHash: await this.passwords.hash(body.password), passwordProven: provesEmail(invite) };
    return journaled(this.signIns, author, async (tx, record) => {
      await lockRoles(tx);
      if (verified) await lockVerified(tx, verified);
      else if (existing && (await lockPerson(tx, existing.id)).disabledAt !== null) throw disabledPerson();
      const userId = existing?.id ?? randomUUIDv7();
      const claimed = await tx.panelInvite.updateMany({
        where: { id: invite.id, acceptedAt: null },
        data: { acceptedAt: new Date(), acceptedBy: existing?.id },
      });
      if (claimed.count === 0) throw overLink();
      if (!existing) await tx.panelUser.create({ data: { id: userId, email, name: body.name ?? email.replace(/@.*/, ''), ...password } });
      else if (password) await tx.panelUser.update({ where: { id: userId }, data: password });
      const before = await setRole(tx, userId, toPlace(invite), invite.role as Role);
      const person = authorAs(author, userId, email);
      const recordAs: WriteEntry = (entry) => record(entry, person);
      let ended: EndedAccess | undefined;
      if (existing && password) ended = await endAccess(tx, userId, recordAs, 'the operator set a new password');
      else if (existing) await endSessions(tx, userId);
      await withdrawBeyondRights(tx, recordAs, userId);
      const { id: sessionId, secret } = await this.sessions.start(tx, userId, client, recordAs);
      const roles = { before: describeRole(before, invite), after: { invite: invite.id, ...describeRole(invite.role, invite) } };
      const after = { ...roles.after, ...(ended && { password: 'changed', ...ended }) };
      const entry = { accountId: invite.accountId, target: `user/${userId}`, before: roles.before, after };
      await recordAs({ action: 'invite.accept', ...entry });
      await recordAs({ action: 'session.start', target: `session/${sessionId}` });
      return { secret, userId };
    });
  }

  /**
   * Checks what was typed. Returns the person whose present password it is; undefined when it becomes their password. Before a new person
   * is made, the answers do not tell whether the e-mail has one.
   */
  private async checkPassword(
    invite: Prisma.PanelInviteModel,
    existing: Prisma.PanelUserModel | null,
    email: string,
    password: string,
    client: Client,
    author: Author,
  ): Promise<Prisma.PanelUserModel | undefined> {
    if (provesEmail(invite)) {
      if (existing?.disabledAt) throw disabledPerson();
      checkNewPassword(password, email);
      return undefined;
    }
    // A link that does not prove its e-mail must not take over the person who has it.
    const weakness = findWeakness(password, email);
    if (!existing && this.makesPeople(invite) && weakness === undefined) return undefined;
    try {
      return await this.signIn.verify(email, password, client.address, author);
    } catch (error) {
      const isWrong = error instanceof PanelError && error.code === 'invalid_credentials';
      if (isWrong && this.makesPeople(invite)) checkNewPassword(password, email);
      throw error;
    }
  }

  private async find(token: string): Promise<Prisma.PanelInviteModel> {
    const invite = await this.signIns.panelInvite.findUnique({ where: { digest: computeDigest(token) } });
    if (!invite || invite.acceptedAt !== null || invite.expiresAt <= new Date()) throw overLink();
    return invite;
  }
}

interface InviteColumns extends Place {
  email: string | null;
  role: Role;
  setsPassword: boolean;
  invitedBy: string;
}

/** Writes an invite with its row of the journal, in place of an open one of the same e-mail for the same role. Call after `lockRoles`. */
export async function writeInvite(
  tx: Prisma.TransactionClient,
  record: WriteEntry,
  { setsPassword, invitedBy, ...scope }: InviteColumns,
  panelUrl: string,
  demandRoom = async (): Promise<void> => undefined,
): Promise<CreatedInvite> {
  const { email, accountId, projectId, role } = scope;
  const id = randomUUIDv7();
  const secret = makeSecret();
  const createdAt = new Date();
  const expiresAt = new Date(createdAt.getTime() + INVITE_MS);
  await withdrawOpen(tx, record, { email, accountId, projectId, role }, `replaced by invite/${id}`);
  await demandRoom();
  const data = { id, digest: computeDigest(secret), email, accountId, projectId, role, setsPassword, invitedBy, createdAt, expiresAt };
  await record({ action: 'invite.create', accountId, target: `invite/${id}`, after: { email, ...describeRole(role, { projectId }) } });
  const row = await tx.panelInvite.create({ data });
  return { ...renderInvite(row), link: `${panelUrl}/panel/welcome#${secret}` };
}

/** Demands the session and the right of a caller, who may have lost either since the request began. Call after `lockRoles`. */
async function demandMayInvite(tx: Prisma.TransactionClient, caller: Caller, accountId: string | null): Promise<void> {
  await lockCaller(tx, caller);
  toAccess(await tx.panelGrant.findMany({ where: { userId: caller.userId } })).require('members', accountId);
}

/** True for a link that the operator made for an e-mail: who opens it has the operator's word that the e-mail is theirs. */
function provesEmail({ setsPassword, email }: Prisma.PanelInviteModel): boolean {
  return setsPassword && email !== null;
}

function disabledPerson(): PanelError {
  return new PanelError('permission_denied', 'This person is disabled.');
}

function overLink(): PanelError {
  return new PanelError('not_found', 'This link was used before, or its 24 hours are over. Ask for another.');
}

function requireEmail(typed: string): string {
  const email = parseEmail(typed);
  if (email === undefined) throw new PanelError('invalid_request', 'email must be an e-mail address', { param: 'email' });
  return email;
}

function renderInvite(row: Prisma.PanelInviteModel): Invite {
  const { id: inviteId, email, role, invitedBy, createdAt, expiresAt } = row;
  return {
    inviteId,
    email,
    ...toPlace(row),
    role: role as Role,
    invitedBy,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  };
}
