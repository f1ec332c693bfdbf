import type { Author } from '#database/audit-journal.js';
import { containsText } from '#database/contains-text.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { journaled } from '../audit/journaled.js';
import { PanelError } from '../errors/panel-error.js';
import { newestFirst, type PageQuery, toPage } from '../requests/page.js';
import type { Member, MemberListReply, Role } from '../shapes/identity.js';
import { parseEmail } from './email-address.js';
import { checkRoleFits, demandAnotherKeeper, describeRole, type GrantRow, lockRoles, type Place, setRole } from './grants.js';
import { withdrawAll, withdrawBeyondRights } from './open-invites.js';
import { renderPerson } from './people.js';
import { endSessions } from './sessions.js';

type Person = Prisma.PanelUserModel & { grants: GrantRow[] };

/** People and their roles. Callers check the permission first. */
export class Members {
  constructor(private readonly prisma: PrismaClient) {}

  /** People with a role in one of the accounts or their projects, with these roles; `all`: everyone, with all their roles. Newest first. */
  async list(accounts: 'all' | string[], page: PageQuery & { search?: string }, role?: Role): Promise<MemberListReply> {
    const grant = { ...(accounts !== 'all' && { accountId: { in: accounts } }), ...(role && { role }) };
    const where = { ...(Object.keys(grant).length > 0 && { grants: { some: grant } }), ...searchIn(page.search) };
    const users = await this.prisma.panelUser.findMany({ where, include: { grants: true }, ...newestFirst(page) });
    const { rows, nextCursor } = toPage(users, page);
    return { members: rows.map((user) => renderMember(user, accounts)), nextCursor };
  }

  /**
   * Gives a person another role in a place, null for none, and ends their sessions except `keptSession`.
   * @throws {PanelError} `not_found` without a role there, `conflict` for the last admin or owner
   */
  async setRole(userId: string, place: Place, role: Role | null, author: Author, keptSession?: string): Promise<void> {
    const { accountId, projectId } = place;
    if (role !== null) checkRoleFits(role, place);
    await journaled(this.prisma, author, async (tx, record) => {
      await lockRoles(tx);
      if (!(await tx.panelGrant.findFirst({ where: { userId, accountId, projectId } }))) throw noSuchMember();
      const before = await setRole(tx, userId, place, role);
      if (before === role) return;
      await endSessions(tx, userId, keptSession);
      const roles = { before: describeRole(before, place), after: describeRole(role, place) };
      const entry = { accountId, target: `user/${userId}`, ...roles };
      await withdrawBeyondRights(tx, record, userId);
      await record({ action: role === null ? 'member.remove' : 'member.update', ...entry });
    });
  }

  /** Keeps a person from signing in and ends their sessions, or lets them in again. @throws {PanelError} `not_found`, `conflict` */
  async setDisabled(userId: string, disabled: boolean, author: Author): Promise<void> {
    await journaled(this.prisma, author, async (tx, record) => {
      await lockRoles(tx);
      const user = await tx.panelUser.findUnique({ where: { id: userId }, include: { grants: true } });
      if (!user) throw noSuchMember();
      if ((user.disabledAt !== null) === disabled) return;
      const isAdmin = user.grants.some(({ accountId, role }) => accountId === null && role === 'admin');
      if (disabled && isAdmin) await demandAnotherKeeper(tx, userId, null, 'admin');
      await tx.panelUser.update({ where: { id: userId }, data: { disabledAt: disabled ? new Date() : null } });
      if (disabled) await endSessions(tx, userId);
      if (disabled) await withdrawAll(tx, record, userId, 'its maker was disabled');
      const entry = { target: `user/${userId}`, before: { disabled: !disabled }, after: { disabled } };
      await record({ action: 'user.update', ...entry });
    });
  }

  /** Returns the id of the person with this e-mail. @throws {PanelError} `not_found` */
  async findId(email: string): Promise<string> {
    const user = await this.prisma.panelUser.findUnique({ where: { email: parseEmail(email) ?? email } });
    if (!user) throw new PanelError('not_found', 'There is no person with this e-mail.');
    return user.id;
  }

  /** @throws {PanelError} `not_found` for a person without a role in the accounts */
  async show(userId: string, accounts: 'all' | string[]): Promise<Member> {
    const user = await this.prisma.panelUser.findUnique({ where: { id: userId }, include: { grants: true } });
    const isVisible = accounts === 'all' || user?.grants.some(({ accountId }) => accountId !== null && accounts.includes(accountId));
    if (!user || !isVisible) throw noSuchMember();
    return renderMember(user, accounts);
  }
}

function searchIn(search: string | undefined) {
  const text = search?.trim();
  return text ? { OR: [{ name: containsText(text) }, { email: containsText(text) }] } : {};
}

function renderMember(user: Person, accounts: 'all' | string[]): Member {
  const visible = user.grants.filter(({ accountId }) => accounts === 'all' || (accountId !== null && accounts.includes(accountId)));
  return { ...renderPerson({ ...user, grants: visible }), disabledAt: user.disabledAt?.toISOString() ?? null };
}

function noSuchMember(): PanelError {
  return new PanelError('not_found', 'There is no such person, or they have no role here.');
}
