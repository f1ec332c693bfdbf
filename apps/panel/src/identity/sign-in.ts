import type { Author } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { authorAs, journaled, type WriteEntry } from '../audit/journaled.js';
import type { SummedRefusals } from '../audit/summed-refusals.js';
import { PanelError } from '../errors/panel-error.js';
import type { Caller } from '../requests/panel-request.js';
import type { SignInRequest } from '../shapes/identity.js';
import { parseEmail } from './email-address.js';
import type { Passwords } from './passwords.js';
import { lockVerified, wrongCredentials } from './person-lock.js';
import type { SecondFactors } from './second-factors.js';
import type { Client, Sessions } from './sessions.js';
import { type Attempt, confirmation, passwordAttempt, type Throttle } from './throttle.js';

type Person = Prisma.PanelUserModel;

/** Signs people in with e-mail and password. */
export class SignIn {
  /** `prisma`: connections for sign-ins alone. */
  constructor(
    private readonly prisma: PrismaClient,
    private readonly passwords: Passwords,
    private readonly sessions: Sessions,
    private readonly throttle: Throttle,
    private readonly refusals: SummedRefusals,
    private readonly secondFactors: SecondFactors,
  ) {}

  /**
   * Starts a session. Returns its secret and the person's id. An unknown e-mail, a wrong password and a disabled person get the same answer
   * after the same time.
   * @throws {PanelError} `invalid_credentials`, `rate_limit_exceeded`, `second_factor_required`
   */
  async signIn({ email, password, ...proof }: SignInRequest, client: Client, author: Author): Promise<{ secret: string; userId: string }> {
    const user = await this.verify(parseEmail(email) ?? email, password, client.address, author);
    await this.secondFactors.demand(user, proof, author);
    return journaled(this.prisma, author, async (tx, record) => {
      await lockVerified(tx, user);
      const person = authorAs(author, user.id, user.email);
      const recordAs: WriteEntry = (entry) => record(entry, person);
      const { id, secret } = await this.sessions.start(tx, user.id, client, recordAs);
      await recordAs({ action: 'session.start', target: `session/${id}` });
      return { secret, userId: user.id };
    });
  }

  /** Checks the password of the caller again and returns the session's new secret. @throws as `signIn` */
  async confirm(caller: Caller, password: string, author: Author): Promise<string> {
    const { sessionId, person } = await this.verifyCaller(caller, password, author);
    return journaled(this.prisma, author, async (tx, record) => {
      await lockVerified(tx, person);
      const secret = await this.sessions.confirm(tx, sessionId);
      await record({ action: 'session.confirm', target: `session/${sessionId}` });
      return secret;
    });
  }

  /** Returns the person with this e-mail and password, for `lockVerified`. @throws as `signIn`, and `permission_denied` while passwords are off */
  verify(email: string, password: string, address: string, author: Author): Promise<Person> {
    return this.check(passwordAttempt(email, address), { email }, password, author);
  }

  /** Checks the password of a signed-in person. @throws as `verify` */
  async verifyCaller({ userId, session }: Caller, password: string, author: Author): Promise<{ sessionId: string; person: Person }> {
    if (!session) throw new PanelError('permission_denied', 'A token has no session.');
    const person = await this.check(confirmation(session.id), { id: userId }, password, author);
    return { sessionId: session.id, person };
  }

  private async check(attempt: Attempt, where: { email: string } | { id: string }, password: string, author: Author): Promise<Person> {
    this.passwords.demandOn();
    return this.throttle.run(attempt, async (forget) => {
      const user = await this.prisma.panelUser.findUnique({ where });
      const isRight = await this.passwords.verify(password, user?.passwordHash);
      if (user && isRight && user.disabledAt === null) {
        await forget();
        return user;
      }
      // The journal never has an unknown e-mail: people type passwords there by mistake.
      const refusal = { action: 'session.refuse', target: user ? `user/${user.id}` : 'user/unknown' };
      await this.refusals.record(author, refusal, { by: attempt.where });
      throw wrongCredentials();
    });
  }
}
