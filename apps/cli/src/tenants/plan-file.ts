import { accountList } from '#contracts/billing/accounts.js';
import { type AccountPlan, accountPlan, PLANNED_ACCOUNTS_MAX, type TenantAccount } from '#contracts/billing/tenants.js';
import { memberPlan, type TenantMember } from '#contracts/tenant-members.js';
import type { Messaging } from '#messaging/messaging.js';
import { type TenantsFile, TenantsFileError } from './tenants-file.js';

/** Comparing reads a few rows of each account. */
export const PLAN_MS = 60_000;

/** Billing compares one batch while it reads the rows of another. */
const REQUESTS_AT_ONCE = 2;

/** An account of a file, its list of people, whom the panel knows, and what differs. */
export interface PlannedAccount {
  account: TenantAccount;
  members: TenantMember[] | undefined;
  plan: AccountPlan;
  /** True: the source is to own nothing of it, and nothing else changes. */
  release: boolean;
}

export interface PlanOptions {
  /** Name of the file as the command has it. */
  file: string;
  prune: boolean;
  release: boolean;
}

/** Compares all accounts, and then those that have left the file. @throws {TenantsFileError} for the faults of all. */
export async function planFile(
  messaging: Messaging,
  tenants: TenantsFile,
  { file, prune, release }: PlanOptions,
): Promise<PlannedAccount[]> {
  const { fault } = tenants;
  const entries = tenants.accounts.map(splitAccount);
  const plans = await planAll(messaging, entries, { prune, release, source: findSource(tenants) });
  const faults = plans.flatMap((plan, index) => plan.faults.map(({ path, problem }) => fault(['accounts', index, ...path], problem)));
  const named = new Map<string, number>();
  for (const [index, { accountId }] of plans.entries()) {
    if (accountId === null) continue;
    if (named.has(accountId)) faults.push(fault(['accounts', index], `is the same account as accounts[${named.get(accountId)}]`));
    named.set(accountId, index);
  }
  if (faults.length > 0) throw new TenantsFileError(file, faults);
  const planned = plans.map((plan, index) => ({ ...(entries[index] as Entry), plan, release }));
  return [...planned, ...(await planLeft(messaging, tenants, new Set(named.keys())))];
}

/** The owner of what the file names. */
export function findSource({ source, name }: TenantsFile): string {
  return source ?? name;
}

/** Plans the release of accounts that the source owns and the file no longer names. A file without a source may be one of several of its name. */
async function planLeft(messaging: Messaging, { source }: TenantsFile, named: ReadonlySet<string>): Promise<PlannedAccount[]> {
  if (source === undefined) return [];
  const left: Entry[] = [];
  let cursor: string | undefined;
  do {
    const reply = await messaging.request(accountList, { managedBy: source, cursor }, { timeoutMs: PLAN_MS });
    for (const { accountId, name } of reply.accounts)
      if (!named.has(accountId)) left.push({ account: { accountId, name }, members: undefined });
    cursor = reply.nextCursor ?? undefined;
  } while (cursor !== undefined);
  const plans = await planAll(messaging, left, { prune: false, release: true, source });
  return plans.map((plan, index) => ({ ...(left[index] as Entry), plan, release: true }));
}

async function planAll(
  messaging: Messaging,
  entries: readonly Entry[],
  options: { prune: boolean; release: boolean; source: string },
): Promise<AccountPlan[]> {
  const batches = Array.from({ length: Math.ceil(entries.length / PLANNED_ACCOUNTS_MAX) }, (_, at) =>
    entries.slice(at * PLANNED_ACCOUNTS_MAX, (at + 1) * PLANNED_ACCOUNTS_MAX),
  );
  const plans: AccountPlan[][] = [];
  let next = 0;
  const planNext = async (): Promise<void> => {
    for (let at = next++; at < batches.length; at = next++) {
      const batch = batches[at] ?? [];
      const request = { accounts: batch.map(({ account }) => account), ...options };
      const reply = await messaging.request(accountPlan, request, { timeoutMs: PLAN_MS });
      plans[at] = options.release ? reply.plans : await planMembers(messaging, batch, reply.plans, options.prune);
    }
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, planNext));
  return plans.flat();
}

type Entry = Pick<PlannedAccount, 'account' | 'members'>;

/** Returns what billing knows of an account, and its list of people, whom the panel knows. */
function splitAccount(entry: object): Entry {
  const { members, ...account } = entry as TenantAccount & { members?: TenantMember[] };
  return { account, members };
}

/** Adds the plans of the members, where a file has some: the panel is not asked for others. */
async function planMembers(
  messaging: Messaging,
  batch: readonly Entry[],
  plans: readonly AccountPlan[],
  prune: boolean,
): Promise<AccountPlan[]> {
  const asked = batch.flatMap(({ members }, index) => (Array.isArray(members) ? [{ index, members }] : []));
  const request = asked.map(({ index, members }) => ({ accountId: plans[index]?.accountId ?? undefined, members }));
  const reply = asked.length === 0 ? { plans: [] } : await messaging.request(memberPlan, { accounts: request }, { timeoutMs: PLAN_MS });
  const byIndex = new Map(asked.map(({ index }, at) => [index, reply.plans[at]]));
  return plans.map((plan, index) => {
    const { members } = batch[index] ?? {};
    if (members !== undefined && !Array.isArray(members)) {
      return { ...plan, faults: [...plan.faults, { path: ['members'], problem: 'must be a list' }] };
    }
    const own = byIndex.get(index);
    if (!own) return plan;
    const faults = own.faults.map(({ path, problem }) => ({ path: ['members', ...path], problem }));
    return {
      ...plan,
      faults: [...plan.faults, ...faults],
      changes: [...plan.changes, ...own.changes, ...(prune ? own.removals : [])],
      kept: [...plan.kept, ...(prune ? [] : own.removals)],
      notes: [...plan.notes, ...own.notes],
    };
  });
}
