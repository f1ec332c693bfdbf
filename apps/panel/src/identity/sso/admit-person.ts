import { randomUUIDv7 } from 'node:crypto';
import type { Author } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { authorAs, type JournalEntry, journaled, type WriteEntry } from '../../audit/journaled.js';
import { PanelError } from '../../errors/panel-error.js';
import type { Role } from '../../shapes/identity.js';
import { describeRole, isSamePlace, lockRoles, setGroupRoles, setRole, toPlace } from '../grants.js';
import { withdrawBeyondRights } from '../open-invites.js';
import { lockPerson } from '../person-lock.js';
import { type Client, endAccess, endSessions, NEVER_CONFIRMED, type Sessions } from '../sessions.js';
import { SsoError } from './sso-error.js';
import type { VouchedPerson } from './sso-provider.js';

/** Milliseconds by which the provider's clock may be ahead. */
const CLOCK_SKEW_MS = 60_000;

type Transaction = Prisma.TransactionClient;
type User = Prisma.PanelUserModel;
/** Writes a row of the journal in the name of the person. */
type RecordAs = (user: User, entry: JournalEntry) => Promise<void>;

/** Finds or makes the person for whom a provider vouches, and starts a session. */
export class AdmitPerson {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly sessions: Sessions,
  ) {}

  /**
   * Returns the secret of a new session. The first time, the person is linked by the verified e-mail, and made if groups or an open invite
   * give a role; afterwards issuer and subject identify them. Each time, open invites of the e-mail are accepted, and the roles of groups
   * follow the groups. A change of roles ends the person's other sessions; a password that may be another's ends at once.
   * @throws {SsoError} `unverified`, `no-access`, `refused`
   */
  async admit(provider: string, person: VouchedPerson, client: Client, author: Author): Promise<string> {
    const { email } = person;
    if (email === undefined) throw new SsoError('unverified', 'the e-mail is not verified');
    const { userId, secret } = await journaled(this.prisma, author, async (tx, record) => {
      const recordAs: RecordAs = (user, entry) => record(entry, authorAs(author, user.id, user.email));
      await lockRoles(tx);
      const open = { email, acceptedAt: null, expiresAt: { gt: new Date() } };
      const isInvited = (await tx.panelInvite.count({ where: open })) > 0;
      const user = await findOrCreate(tx, { ...person, email }, isInvited, recordAs);
      await link(tx, user, person, recordAs);
      await disown(tx, user, recordAs);
      // Those that are left: an impostor may have invited the e-mail that they had typed.
      const invites = await tx.panelInvite.findMany({ where: open, orderBy: { id: 'asc' } });
      let hasChanged = false;
      // Groups go first: an invite of the same place stays open.
      const welcome = invites.filter((invite) => !person.roles.some((role) => isSamePlace(role, invite)));
      for (const invite of welcome) hasChanged = (await accept(tx, user, invite, recordAs)) || hasChanged;
      for (const { before, after, ...place } of await setGroupRoles(tx, user.id, person.issuer, person.roles)) {
        hasChanged = true;
        const { accountId } = place;
        const roles = { before: describeRole(before, place), after: describeRole(after, place) };
        const action = after === null ? 'member.remove' : 'member.update';
        await recordAs(user, { action, accountId, target: `user/${user.id}`, reason: `groups of ${provider}`, ...roles });
      }
      const recordTheirs: WriteEntry = (entry) => recordAs(user, entry);
      if (hasChanged) await endSessions(tx, user.id);
      if (hasChanged) await withdrawBeyondRights(tx, recordTheirs, user.id);
      // The removal of the last role is kept, so this is no error yet.
      if ((await tx.panelGrant.count({ where: { userId: user.id } })) === 0) return { userId: user.id, secret: null };
      const session = await this.sessions.start(tx, user.id, client, recordTheirs, readMoment(person));
      await recordAs(user, { action: 'session.start', target: `session/${session.id}`, after: { provider } });
      return { userId: user.id, secret: session.secret };
    });
    if (secret === null) throw new SsoError('no-access', 'the person has no role', userId);
    return secret;
  }
}

async function findOrCreate(
  tx: Transaction,
  { issuer, subject, email, name, roles }: VouchedPerson & { email: string },
  isInvited: boolean,
  recordAs: RecordAs,
): Promise<User> {
  const identity = await tx.panelIdentity.findUnique({ where: { issuer_subject: { issuer, subject } }, include: { user: true } });
  const found = identity?.user ?? (await tx.panelUser.findUnique({ where: { email } }));
  const user = found && (await lockPerson(tx, found.id));
  if (user?.disabledAt) throw new SsoError('no-access', 'the person is disabled', user.id);
  if (user) return user;
  if (roles.length === 0 && !isInvited)
    throw new SsoError('no-access', 'the person is unknown, and neither invited nor in a group with a role');
  const created = await tx.panelUser.create({ data: { id: randomUUIDv7(), email, name: name ?? email.replace(/@.*/, '') } });
  await recordAs(created, { action: 'user.create', target: `user/${created.id}`, after: { email, name: created.name } });
  return created;
}

/** Ties the person to the subject of the issuer, once. */
async function link(tx: Transaction, user: User, { issuer, subject }: VouchedPerson, recordAs: RecordAs): Promise<void> {
  const { id: userId } = user;
  const linked = await tx.panelIdentity.findUnique({ where: { userId_issuer: { userId, issuer } } });
  if (linked?.subject === subject) return;
  // The provider has given the address to another of its users.
  if (linked) throw new SsoError('refused', 'the person is linked to another subject of the issuer', userId);
  await tx.panelIdentity.create({ data: { id: randomUUIDv7(), userId, issuer, subject } });
  await recordAs(user, { action: 'identity.link', target: `user/${userId}`, after: { issuer, subject } });
}

/**
 * Removes a password that was never proven to belong to the e-mail, and with it all that its owner may hold: anybody with an invite could
 * have chosen it before the person came. Roles stay, and the journal names them.
 */
async function disown(tx: Transaction, { id, email, passwordHash, passwordProven }: User, recordAs: RecordAs): Promise<void> {
  if (passwordHash === null || passwordProven) return;
  const user = await tx.panelUser.update({ where: { id }, data: { passwordHash: null }, include: { grants: true } });
  const reason = 'the password was never proven to belong to the e-mail';
  const ended = await endAccess(tx, id, (entry) => recordAs(user, entry), reason);
  const roles = user.grants.map(({ accountId, role, ...place }) => ({ accountId, ...describeRole(role, place) }));
  await recordAs(user, { action: 'user.remove-password', target: `user/${id}`, reason, after: { email, ...ended, roles } });
}

/** Accepts an invite, except one that would take the last admin or owner from their role: that stays open. True when a role has changed. */
async function accept(tx: Transaction, user: User, invite: Prisma.PanelInviteModel, recordAs: RecordAs): Promise<boolean> {
  const { id, accountId, role } = invite;
  const before = await setRole(tx, user.id, toPlace(invite), role as Role).catch((error: unknown) => {
    if (error instanceof PanelError && error.code === 'conflict') return undefined;
    throw error;
  });
  if (before === undefined) return false;
  await tx.panelInvite.update({ where: { id }, data: { acceptedAt: new Date(), acceptedBy: user.id } });
  const roles = { before: describeRole(before, invite), after: { invite: id, ...describeRole(role, invite) } };
  await recordAs(user, { action: 'invite.accept', accountId, target: `user/${user.id}`, ...roles });
  return before !== role;
}

/** Moment at which the provider asked the person who they are. Never, where it does not say, or names a time to come. */
function readMoment({ authenticatedAt }: VouchedPerson): Date {
  const now = Date.now();
  const at = authenticatedAt?.getTime() ?? Number.NaN;
  return at <= now + CLOCK_SKEW_MS ? new Date(Math.min(at, now)) : NEVER_CONFIRMED;
}
