import { stringify } from 'yaml';
import { type AccountApplyRequest, type AccountPlan, accountApply } from '#contracts/billing/tenants.js';
import { ServiceError } from '#contracts/service-error.js';
import { type MemberInvite, memberApply } from '#contracts/tenant-members.js';
import type { Messaging } from '#messaging/messaging.js';
import { dropUnused, type NewKeys, type SecretsPlace } from './keep-secrets.js';
import type { PlannedAccount } from './plan-file.js';
import { appendPrivate } from './secrets-file.js';

/** Changing an account may make a thousand rows. */
const APPLY_MS = 60_000;

interface ApplyOptions extends Pick<AccountApplyRequest, 'prune' | 'source' | 'fileName' | 'fileDigest'> {
  newKeys: NewKeys;
  secrets: SecretsPlace;
  /** File for the links of new people. */
  invites: string | undefined;
  /** Says how far it is. */
  write: ((text: string) => void) | undefined;
}

/** Applies the accounts that differ, one after another. Each is done or not: after a failure the next run continues. */
export async function applyPlanned(
  messaging: Messaging,
  planned: readonly PlannedAccount[],
  { newKeys, secrets, invites, write, ...options }: ApplyOptions,
): Promise<AccountPlan[]> {
  const made: AccountPlan[] = [];
  let done = 0;
  for (const one of planned) {
    const { plan } = one;
    if (plan.changes.length === 0) {
      made.push(plan);
      continue;
    }
    try {
      const own = newKeys.get(plan.name) ?? [];
      const changes = await applyAccount(messaging, one, { ...options, newKeys: own }, invites);
      const unused = await dropUnused(messaging, { name: plan.name, changes }, own, secrets);
      const notes = unused.map(
        ({ name, project }) => `key ${name} of project ${project} was made by another apply meanwhile, which has its secret`,
      );
      made.push({ ...plan, changes, notes: [...plan.notes, ...notes] });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { code, message, param, details } = error;
      throw new ServiceError(code, `account ${plan.name}: ${message} (${done} accounts were changed before)`, param, {
        cause: error,
        ...(details && { details }),
      });
    }
    done += 1;
    if (write && done % 100 === 0) write(`${done} accounts changed\n`);
  }
  return made;
}

async function applyAccount(
  messaging: Messaging,
  { account, members = [], plan, release }: PlannedAccount,
  options: Omit<AccountApplyRequest, 'account' | 'release'>,
  invites: string | undefined,
): Promise<AccountPlan['changes']> {
  const { prune, fileName, fileDigest } = options;
  const changes: AccountPlan['changes'] = [];
  let { accountId } = plan;
  let remaining = plan.changes.every(isMember) ? 0 : 1;
  while (remaining > 0) {
    const reply = await messaging.request(accountApply, { account, release, ...options }, { timeoutMs: APPLY_MS });
    changes.push(...reply.changes);
    ({ accountId, remaining } = reply);
  }
  if (!plan.changes.some(isMember) || accountId === null) return changes;
  const request = { accountId, members, prune, fileName, fileDigest };
  const reply = await messaging.request(memberApply, request, { timeoutMs: APPLY_MS });
  if (invites !== undefined && reply.invites.length > 0) await addInvites(invites, plan.name, reply.invites);
  return [...changes, ...reply.changes];
}

const isMember = ({ kind }: AccountPlan['changes'][number]): boolean => kind === 'member';

async function addInvites(file: string, account: string, invites: readonly MemberInvite[]): Promise<void> {
  await appendPrivate(file, stringify(invites.map((invite) => ({ account, ...invite }))));
}
