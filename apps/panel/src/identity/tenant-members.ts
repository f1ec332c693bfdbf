import type { TenantChange, TenantFault } from '#contracts/billing/tenants.js';
import { type MemberApplyReply, type MemberApplyRequest, type MemberPlan, TenantMember } from '#contracts/tenant-members.js';
import type { Author } from '#database/audit-journal.js';
import type { Prisma, PrismaClient } from '#database/prisma-client.js';
import { findFaults } from '#validation/find-faults.js';
import { journaled, type WriteEntry } from '../audit/journaled.js';
import { PanelError } from '../errors/panel-error.js';
import { isProjectRole } from '../permissions/permissions.js';
import type { CreatedInvite, Role } from '../shapes/identity.js';
import { parseEmail } from './email-address.js';
import { describeRole, lockRoles, type Place, setRole } from './grants.js';
import { writeInvite } from './invites.js';
import { withdrawBeyondRights, withdrawOpen } from './open-invites.js';
import { endSessions } from './sessions.js';

/** Projects of an account: ids by name, of which several may have one. */
export type ProjectNames = readonly { projectId: string; name: string }[];

interface State {
  people: readonly { id: string; email: string; disabledAt: Date | null; grants: readonly AccountGrant[] }[];
  invites: readonly { email: string | null; projectId: string | null; role: string }[];
}

interface AccountGrant {
  projectId: string | null;
  role: string;
  issuer: string | null;
}

type Act =
  | { act: 'set'; userId: string; projectId: string | null; role: Role | null }
  | { act: 'invite'; email: string; projectId: string | null; role: Role }
  | { act: 'withdraw'; email: string; projectId: string | null; role: Role };

interface Step {
  change: TenantChange;
  act: Act;
}

/** The people of accounts as lists name them: by e-mail, role and the name of the project. */
export class TenantMembers {
  constructor(
    private readonly prisma: PrismaClient,
    private readonly panelUrl: string,
  ) {}

  /** Compares, and changes nothing. `accountId` is undefined for a new account; members may break any rule. */
  async plan(accountId: string | undefined, members: readonly unknown[], projects: ProjectNames): Promise<MemberPlan> {
    const faults = members.flatMap((member, index) =>
      findFaults(TenantMember, member).map(({ path, problem }) => ({ path: [index, ...path], problem })),
    );
    const checked = faults.length > 0 ? faults : checkMembers(members as TenantMember[]);
    if (checked.length > 0) return { faults: checked, changes: [], removals: [], notes: [] };
    const wanted = members as TenantMember[];
    const state = await readState(this.prisma, accountId, wanted);
    const { steps, removals, notes } = compare(wanted, state, projects);
    return { faults: [], changes: steps.map(({ change }) => change), removals: removals.map(({ change }) => change), notes };
  }

  /** @throws {PanelError} `invalid_request` for a fault, `not_found` for an unknown project, `conflict` for the last owner. Nothing is changed then. */
  async apply(
    { accountId, members, prune = false, fileName, fileDigest }: MemberApplyRequest,
    projects: ProjectNames,
    { caller, logger }: Author,
  ): Promise<MemberApplyReply> {
    const [fault] = checkMembers(members);
    if (fault) throw new PanelError('invalid_request', `members[${fault.path[0]}]: ${fault.problem}`, { param: 'members' });
    const author = { caller, logger, reason: `${fileName} sha256:${fileDigest}` };
    return journaled(this.prisma, author, async (tx, record) => {
      await lockRoles(tx);
      const { steps, removals } = compare(members, await readState(tx, accountId, members), projects);
      // New owners come before the former ones go.
      const made = [...steps, ...(prune ? removals : [])];
      const invites: MemberApplyReply['invites'] = [];
      for (const { act } of made) {
        const invite = await this.run(tx, record, accountId, act, caller.actor);
        if (invite) invites.push({ email: invite.email ?? '', link: invite.link, expiresAt: invite.expiresAt });
      }
      return { accountId, changes: made.map(({ change }) => change), invites };
    });
  }

  private async run(
    tx: Prisma.TransactionClient,
    record: WriteEntry,
    accountId: string,
    act: Act,
    invitedBy: string,
  ): Promise<CreatedInvite | undefined> {
    const { projectId, role } = act;
    const place: Place = { accountId, projectId };
    if (projectId === UNKNOWN) throw new PanelError('not_found', 'The account has no project of this name.', { param: 'members' });
    if (act.act === 'invite') {
      return writeInvite(tx, record, { email: act.email, ...place, role: act.role, setsPassword: true, invitedBy }, this.panelUrl);
    }
    if (act.act === 'withdraw') {
      await withdrawOpen(tx, record, { email: act.email, ...place, role: act.role }, 'not in the file');
      return undefined;
    }
    const before = await setRole(tx, act.userId, place, role);
    if (before !== null) await endSessions(tx, act.userId);
    await withdrawBeyondRights(tx, record, act.userId);
    const roles = { before: describeRole(before, place), after: describeRole(role, place) };
    const action = role === null ? 'member.remove' : 'member.update';
    await record({ action, accountId, target: `user/${act.userId}`, ...roles });
    return undefined;
  }
}

/** Place of a project that is not there, or not yet: nobody has a role in it. */
const UNKNOWN = 'unknown';

function checkMembers(members: readonly TenantMember[]): TenantFault[] {
  const seen = new Set<string>();
  return members.flatMap(({ email, role, project }, index): TenantFault[] => {
    const parsed = parseEmail(email);
    if (!parsed) return [{ path: [index, 'email'], problem: 'must be an e-mail address' }];
    if (isProjectRole(role) !== (project !== undefined)) {
      const problem = project === undefined ? 'is one of a project: add the project' : 'is one of the whole account: leave the project out';
      return [{ path: [index, 'role'], problem }];
    }
    const place = JSON.stringify([parsed, project]);
    const isTwice = seen.has(place);
    seen.add(place);
    return isTwice ? [{ path: [index, 'email'], problem: 'is there twice' }] : [];
  });
}

async function readState(
  tx: Prisma.TransactionClient | PrismaClient,
  accountId: string | undefined,
  wanted: readonly TenantMember[],
): Promise<State> {
  const emails = wanted.map(({ email }) => parseEmail(email) ?? email);
  const ofAccount = accountId === undefined ? [] : [{ grants: { some: { accountId } } }];
  const people = await tx.panelUser.findMany({
    where: { OR: [{ email: { in: emails } }, ...ofAccount] },
    select: { id: true, email: true, disabledAt: true, grants: { where: { accountId: accountId ?? null } } },
    orderBy: [{ email: 'asc' }],
  });
  const open = { acceptedAt: null, expiresAt: { gt: new Date() } };
  const invites = accountId === undefined ? [] : await tx.panelInvite.findMany({ where: { accountId, ...open }, orderBy: [{ id: 'asc' }] });
  return { people: accountId === undefined ? people.map((person) => ({ ...person, grants: [] })) : people, invites };
}

function compare(members: readonly TenantMember[], { people, invites }: State, projects: ProjectNames) {
  const steps: Step[] = [];
  const removals: Step[] = [];
  const notes: string[] = [];
  const findName = (projectId: string | null) => projects.find((one) => one.projectId === projectId)?.name;
  const listed = new Set<string>();
  const renderPlace = (email: string, projectId: string | null) => JSON.stringify([email, projectId]);
  const step = (
    to: Step[],
    action: TenantChange['action'],
    name: string,
    projectId: string | null,
    field: TenantChange['fields'][number],
    act: Act,
  ) => {
    const project = findName(projectId);
    to.push({ change: { action, kind: 'member', ...(project !== undefined && { project }), name, fields: [field] }, act });
  };
  for (const member of members) {
    const email = parseEmail(member.email) ?? member.email;
    const role = member.role as Role;
    const projectId = member.project === undefined ? null : (projects.find(({ name }) => name === member.project)?.projectId ?? UNKNOWN);
    listed.add(renderPlace(email, projectId));
    const person = people.find((one) => one.email === email);
    const before = person?.grants.find((grant) => grant.projectId === projectId)?.role ?? null;
    if (person?.disabledAt) notes.push(`${email} is disabled, and stays so`);
    if (before === role) continue;
    if (!person && invites.some((invite) => invite.email === email && invite.projectId === projectId && invite.role === role)) continue;
    const field = { field: person ? 'role' : 'invite', before, after: role };
    const act: Act = person ? { act: 'set', userId: person.id, projectId, role } : { act: 'invite', email, projectId, role };
    step(steps, before === null ? 'create' : 'change', email, projectId, field, act);
    const last = steps.at(-1);
    if (last && member.project !== undefined) last.change.project = member.project;
  }
  for (const { id: userId, email, grants } of people) {
    for (const { projectId, role, issuer } of grants) {
      if (issuer !== null || listed.has(renderPlace(email, projectId))) continue;
      step(
        removals,
        'remove',
        email,
        projectId,
        { field: 'role', before: role, after: null },
        { act: 'set', userId, projectId, role: null },
      );
    }
  }
  for (const { email, projectId, role } of invites) {
    if (email === null || listed.has(renderPlace(email, projectId))) continue;
    const act: Act = { act: 'withdraw', email, projectId, role: role as Role };
    step(removals, 'remove', email, projectId, { field: 'invite', before: role, after: null }, act);
  }
  return { steps, removals, notes };
}
