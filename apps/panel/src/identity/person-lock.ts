import type { Prisma } from '#database/prisma-client.js';
import { PanelError } from '../errors/panel-error.js';
import type { Caller } from '../requests/panel-request.js';

type Person = Prisma.PanelUserModel;

/**
 * Locks a person's row until the transaction ends, and returns it as it is then. All that gives a person a session, a token or an invite
 * takes the lock first, and so does all that ends them: each sees those before it, and none is given while they end. Comes after
 * `lockRoles`, and before the first row of the journal, which is a lock too.
 */
export async function lockPerson(tx: Prisma.TransactionClient, userId: string): Promise<Person> {
  await tx.$executeRaw`SELECT FROM panel."user" WHERE id = ${userId}::uuid FOR NO KEY UPDATE`;
  return tx.panelUser.findUniqueOrThrow({ where: { id: userId } });
}

/**
 * Locks a person whose password was checked before the transaction began, which takes a while.
 * @throws {PanelError} `invalid_credentials` when it is no longer their password, or they have been disabled
 */
export async function lockVerified(tx: Prisma.TransactionClient, verified: Person): Promise<void> {
  const { passwordHash, disabledAt } = await lockPerson(tx, verified.id);
  if (passwordHash !== verified.passwordHash || disabledAt !== null) throw wrongCredentials();
}

/**
 * Locks the person of a caller whose credentials were checked before the transaction began.
 * @throws {PanelError} `authentication_required` when the session has ended since; a token has none
 */
export async function lockCaller(tx: Prisma.TransactionClient, { userId, session }: Caller): Promise<void> {
  await lockPerson(tx, userId);
  const found = session && (await tx.panelSession.findUnique({ where: { id: session.id } }));
  if (!found) throw new PanelError('authentication_required', 'The session is over.');
}

export function wrongCredentials(): PanelError {
  return new PanelError('invalid_credentials', 'The e-mail or the password is wrong.');
}
