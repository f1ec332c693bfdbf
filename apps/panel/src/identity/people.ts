import type { Author } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { journaled } from '../audit/journaled.js';
import { PanelError } from '../errors/panel-error.js';
import type { Caller } from '../requests/panel-request.js';
import type { Me } from '../shapes/identity.js';
import { type GrantRow, renderGrant } from './grants.js';
import { checkNewPassword, type Passwords } from './passwords.js';
import { lockPerson, lockVerified } from './person-lock.js';
import { endSessions } from './sessions.js';
import type { SignIn } from './sign-in.js';

/** The data that a signed-in person may see and change about themselves. */
export class People {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly passwords: Passwords,
    private readonly signIn: SignIn,
  ) {}

  async show(userId: string): Promise<Me> {
    const user = await this.prisma.panelUser.findUniqueOrThrow({ where: { id: userId }, include: { grants: true } });
    return { ...renderPerson(user), hasPassword: this.passwords.isOn && user.passwordHash !== null };
  }

  async rename({ userId }: Caller, name: string, author: Author): Promise<void> {
    await journaled(this.prisma, author, async (tx, record) => {
      const before = await lockPerson(tx, userId);
      if (before.name === name) return;
      await tx.panelUser.update({ where: { id: userId }, data: { name } });
      const target = `user/${userId}`;
      await record({ action: 'user.update', target, before: { name: before.name }, after: { name } });
    });
  }

  /** Sets a new password and ends the person's other sessions. @throws {PanelError} `invalid_credentials` for a wrong present password */
  async changePassword(caller: Caller, current: string | undefined, password: string, author: Author): Promise<void> {
    const { userId, actorName: email } = caller;
    if (current === undefined) throw new PanelError('invalid_request', 'currentPassword is missing', { param: 'currentPassword' });
    checkNewPassword(password, email);
    const { sessionId: keptSession, person } = await this.signIn.verifyCaller(caller, current, author);
    const passwordHash = await this.passwords.hash(password);
    await journaled(this.prisma, author, async (tx, record) => {
      await lockVerified(tx, person);
      await tx.panelUser.update({ where: { id: userId }, data: { passwordHash } });
      const ended = await endSessions(tx, userId, keptSession);
      await record({ action: 'user.set-password', target: `user/${userId}`, after: { sessionsEnded: ended } });
    });
  }
}

export function renderPerson(user: Prisma.PanelUserModel & { grants: readonly GrantRow[] }): Omit<Me, 'hasPassword'> {
  const grants = user.grants.map(renderGrant);
  return { userId: user.id, email: user.email, name: user.name, createdAt: user.createdAt.toISOString(), grants };
}
