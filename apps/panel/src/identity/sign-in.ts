import type { Author } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { authorAs, journaled, record } from '../audit/journaled.js';
import { PanelError } from '../http/panel-error.js';
import type { Caller } from '../http/panel-request.js';
import type { Passwords } from './passwords.js';
import type { Client, Sessions } from './sessions.js';
import type { Throttle } from './throttle.js';

/** Signs people in with e-mail and password. */
export class SignIn {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly passwords: Passwords,
    private readonly sessions: Sessions,
    private readonly throttle: Throttle,
  ) {}

  /**
   * Starts a session. Returns its secret and the person's id. An unknown e-mail, a wrong password and a disabled person get the same answer
   * after the same time.
   * @throws {PanelError} `invalid_credentials`, `rate_limit_exceeded`
   */
  async signIn(typedEmail: string, password: string, client: Client, author: Author): Promise<{ secret: string; userId: string }> {
    const email = typedEmail.trim().toLowerCase();
    const user = await this.verify(email, password, client.address, author);
    return journaled(this.prisma, author, async (tx, record) => {
      const { id, secret } = await this.sessions.start(tx, user.id, client);
      await record({ action: 'session.start', target: `session/${id}` }, authorAs(author, user.id, email));
      return { secret, userId: user.id };
    });
  }

  /** Checks the password of the caller again and returns the session's new secret. @throws as `signIn` */
  async confirm({ actorName, session }: Caller, password: string, address: string, author: Author): Promise<string> {
    if (!session) throw new PanelError('permission_denied', 'A token has no session.');
    await this.verify(actorName, password, address, author);
    return journaled(this.prisma, author, async (tx, record) => {
      const secret = await this.sessions.confirm(tx, session.id);
      await record({ action: 'session.confirm', target: `session/${session.id}` });
      return secret;
    });
  }

  /** Returns the person with this e-mail and password. @throws as `signIn`, and `permission_denied` while passwords are off */
  async verify(email: string, password: string, address: string, author: Author): Promise<{ id: string }> {
    this.passwords.demandOn();
    const forget = await this.throttle.attempt(email, address);
    const user = await this.prisma.panelUser.findUnique({ where: { email } });
    const isRight = await this.passwords.verify(password, user?.passwordHash);
    if (user && isRight && user.disabledAt === null) {
      await forget();
      return user;
    }
    // The journal never has an unknown e-mail: people type passwords there by mistake.
    await record(this.prisma, author, { action: 'session.refuse', target: user ? `user/${user.id}` : 'user/unknown' });
    throw new PanelError('invalid_credentials', 'The e-mail or the password is wrong.');
  }
}
