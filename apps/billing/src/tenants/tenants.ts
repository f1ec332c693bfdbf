import {
  type AccountApplyReply,
  type AccountApplyRequest,
  type AccountPlan,
  type AccountPlanRequest,
  TenantAccount,
  type TenantFault,
} from '#contracts/billing/tenants.js';
import { ServiceError } from '#contracts/service-error.js';
import { type Author, auditedTogether } from '#database/audit-journal.js';
import type { PrismaClient } from '#database/prisma-client.js';
import { findFaults } from '#validation/find-faults.js';
import { validatePayload } from '#validation/validate-payload.js';
import { lockAccount } from '../sql/lock-account.js';
import { planTenant } from './plan-tenant.js';
import type { Stale, TenantDefaults, TenantStep } from './planning.js';
import { findAccounts, readTenants } from './read-tenants.js';
import type { TenantState } from './tenant-state.js';

/** Steps of one transaction, which must end within its time. */
const STEPS_MAX = 1_000;
/** First half of the lock of the name of a new account, so that two requests for it make one. */
const NAME_LOCK = 0x6e_61_6d_65;

/** Compares accounts with their wanted states, which may break any rule. Changes nothing, and locks nothing. */
export async function planTenants(
  prisma: PrismaClient,
  { accounts: payloads, prune = false, source, release }: { accounts: readonly unknown[] } & Omit<AccountPlanRequest, 'accounts'>,
): Promise<AccountPlan[]> {
  const checked = payloads.map((payload) => parseTenant(payload));
  const sound = checked.flatMap((one) => ('account' in one ? one.account : []));
  const found = await findAccounts(prisma, sound);
  const states = await readTenants(prisma, found.flat());
  const candidates = new Map(sound.map((account, index) => [account, found[index] ?? []]));
  return checked.map((one) => {
    if ('faults' in one) return { ...NOTHING, name: one.name, faults: one.faults };
    const { account } = one;
    const ids = candidates.get(account) ?? [];
    const [id] = ids;
    const state = id === undefined ? undefined : states.get(id);
    const { faults, steps, removals, notes, marking } = planTenant(account, state, { source, release });
    const changes = [...(prune ? withRemovals(steps, removals) : steps), ...(marking?.change ? [{ change: marking.change }] : [])];
    return {
      accountId: state?.account.accountId ?? null,
      name: account.name,
      faults: [...findPlaceFaults(account, ids), ...faults],
      changes: changes.map(({ change }) => change),
      kept: prune ? [] : removals.map(({ change }) => change),
      notes,
    };
  });
}

const NOTHING = { accountId: null, changes: [], kept: [], notes: [] };

function parseTenant(payload: unknown): { account: TenantAccount } | { name: string; faults: TenantFault[] } {
  const faults = findFaults(TenantAccount, payload);
  if (faults.length === 0) return { account: validatePayload(TenantAccount, payload) };
  const { name }: { name?: unknown } = (payload ?? {}) as object;
  return { name: typeof name === 'string' ? name : '', faults };
}

/** The outcome of an apply, with what gateways must be told. */
export interface AppliedTenant {
  reply: AccountApplyReply;
  stale: readonly Stale[];
}

/**
 * Brings an account to its wanted state in one transaction, which holds its lock and compares again.
 * @throws {ServiceError} `invalid_request` for a fault and for a new key without its digest; any refusal of the changes themselves. Nothing is
 * changed then.
 */
export async function applyTenant(
  prisma: PrismaClient,
  { account, prune = false, source, release, fileName, fileDigest, newKeys = [] }: AccountApplyRequest,
  defaults: TenantDefaults,
  { caller, logger }: Author,
): Promise<AppliedTenant> {
  const author = { caller, logger, reason: `${fileName} sha256:${fileDigest}` };
  return auditedTogether(prisma, 'billing', author, async (joined) => {
    const state = await lockTenant(joined, account);
    const { accountId, faults, marking, ...plan } = planTenant(account, state, { newKeys, source, release });
    refuseFaults(faults);
    const steps = prune ? withRemovals(plan.steps, plan.removals) : plan.steps;
    const now = steps.slice(0, STEPS_MAX);
    const remaining = steps.length - now.length;
    const applying = { joined, author, newKeys, ...defaults };
    for (const { run } of now) await run(applying);
    // Marks come with the last changes: all things are there then.
    if (remaining === 0) await marking?.run(applying);
    const marked = remaining === 0 && marking?.change ? [marking.change] : [];
    const reply = { accountId, changes: [...now.map(({ change }) => change), ...marked], remaining };
    return { reply, stale: now.flatMap((step) => step.stale ?? []) };
  });
}

/** Locks the account and reads it. Undefined: there is none, and its name is locked. */
async function lockTenant(joined: PrismaClient, account: TenantAccount): Promise<TenantState | undefined> {
  const find = async (): Promise<string | undefined> => {
    const [ids = []] = await findAccounts(joined, [account]);
    refuseFaults(findPlaceFaults(account, ids));
    return ids[0];
  };
  let id = await find();
  if (id === undefined) {
    await joined.$executeRaw`SELECT pg_advisory_xact_lock(${NAME_LOCK}::int4, hashtext(${account.name}))`;
    id = await find();
  }
  if (id === undefined) return undefined;
  await lockAccount(joined, id);
  return (await readTenants(joined, [id])).get(id);
}

/** Removals follow the settings of the account: it has a most of keys and projects, which may be new. */
function withRemovals(steps: readonly TenantStep[], removals: readonly TenantStep[]): TenantStep[] {
  const isOwn = ({ change: { kind } }: TenantStep): boolean => kind === 'account' || kind === 'credit';
  return [...steps.filter(isOwn), ...removals, ...steps.filter((step) => !isOwn(step))];
}

function findPlaceFaults({ accountId }: TenantAccount, ids: readonly string[]): TenantFault[] {
  if (accountId !== undefined && ids.length === 0) return [{ path: ['accountId'], problem: 'is that of no account' }];
  return ids.length > 1 ? [{ path: ['name'], problem: `is the name of ${ids.length} accounts: add the accountId of one` }] : [];
}

function refuseFaults([fault]: readonly TenantFault[]): void {
  if (!fault) return;
  const path = fault.path.reduce<string>((text, step) => (typeof step === 'number' ? `${text}[${step}]` : `${text}.${step}`), 'account');
  throw new ServiceError('invalid_request', `${path}: ${fault.problem}`, path);
}
