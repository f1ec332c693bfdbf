import { randomUUID } from 'node:crypto';
import { stringify } from 'yaml';
import { digestApiKey } from '#contracts/api-key.js';
import { keyList } from '#contracts/billing/keys.js';
import {
  type AccountPlan,
  accountApply,
  accountExport,
  accountPlan,
  type NewTenantKey,
  PLANNED_ACCOUNTS_MAX,
  type TenantAccount,
} from '#contracts/billing/tenants.js';
import { makeApiKey } from '#contracts/make-api-key.js';
import { ServiceError } from '#contracts/service-error.js';
import { type MemberInvite, memberApply, memberPlan, type TenantMember } from '#contracts/tenant-members.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { completeIds } from '../complete-ids.js';
import { accountId, flag, oneOf, optional, required, text } from '../parameters.js';
import { renderPlans } from '../tenants/render-plan.js';
import { appendPrivate, type KeySecret, readSecrets, SECRETS_FORMATS, writeSecrets } from '../tenants/secrets-file.js';
import { readTenantsFile, type TenantsFile, TenantsFileError } from '../tenants/tenants-file.js';
import { UsageError } from '../usage-error.js';

/** Comparing reads a few rows of each account; changing one may make a thousand rows. */
const PLAN_MS = 60_000;
const APPLY_MS = 60_000;

const APPLY_PARAMETERS = {
  file: { ...required(text(500, 'file'), 'such as tenants.yaml'), short: 'f' },
  plan: flag('show what would change, and change nothing'),
  prune: flag("remove what the file's accounts have and the file does not: keys are revoked, projects disabled"),
  secrets: optional(text(500, 'file'), 'file for the secrets of new keys, mode 0600; needed when a key is new'),
  invites: optional(text(500, 'file'), 'file for the links of new people, mode 0600; needed when a person is invited'),
  secretsFormat: optional(oneOf(SECRETS_FORMATS, 'format'), 'yaml, or kubernetes for manifests of Secrets; default yaml'),
} satisfies Parameters;

const EXPORT_PARAMETERS = {
  account: optional(accountId, 'name or id of the account; default all'),
} satisfies Parameters;

export const tenantCommands: readonly CliCommand[] = [
  {
    name: 'apply',
    summary: 'Bring accounts to the state of a YAML file: settings, projects, keys, budgets, limits, webhooks, members',
    parameters: APPLY_PARAMETERS,
    examples: ['apply -f tenants.yaml --plan', 'apply -f tenants.yaml --secrets keys.yaml', 'apply -f tenants.yaml --prune'],
    async run(values, json, connect, write) {
      const { file, plan: planOnly, prune = false, secrets, secretsFormat = 'yaml', invites } = values as Values<typeof APPLY_PARAMETERS>;
      const tenants = await readTenantsFile(file);
      const messaging = await connect();
      const plans = await planAll(messaging, tenants, file, prune);
      if (planOnly) return { text: json ? renderJson(tenants, plans, false) : renderPlans(plans, 'planned'), failed: false };
      demandInvitesFile(plans, invites);
      const newKeys = await keepSecrets(messaging, plans, secrets, secretsFormat);
      const made = await applyAll(messaging, tenants, { plans, prune, newKeys, invites }, json ? undefined : write);
      return { text: json ? renderJson(tenants, made, true) : renderPlans(made, 'made'), failed: false };
    },
  },
  {
    name: 'export',
    summary: 'Print accounts as a YAML file that apply finds equal',
    parameters: EXPORT_PARAMETERS,
    examples: ['export > tenants.yaml', 'export --account acme'],
    async run(values, json, connect) {
      const messaging = await connect();
      const { account } = (await completeIds(EXPORT_PARAMETERS, values, messaging)) as Values<typeof EXPORT_PARAMETERS>;
      const accounts: (TenantAccount & { members?: TenantMember[] })[] = [];
      const leftOut: string[] = [];
      let cursor: string | undefined;
      do {
        const reply = await messaging.request(accountExport, { accountId: account, cursor }, { timeoutMs: PLAN_MS });
        const ids = reply.accounts.map(({ accountId }) => accountId);
        const people = ids.length === 0 ? [] : await exportMembers(messaging, ids);
        if (!people) leftOut.push('members: the panel does not answer');
        for (const [index, exported] of reply.accounts.entries()) {
          const members = people?.[index];
          accounts.push({ ...exported.account, ...(members && { members }) });
          leftOut.push(...exported.leftOut.map((one) => `account ${exported.account.name}: ${one}`));
        }
        cursor = reply.nextCursor ?? undefined;
      } while (cursor !== undefined);
      if (json) return { text: JSON.stringify({ accounts, leftOut }, null, 2), failed: false };
      const head = ['# yaml-language-server: $schema=./tenants.schema.json'];
      const remarks = leftOut.map((one) => `# not in this file: ${one.replaceAll(/\s+/g, ' ')}`);
      return {
        text: [...head, ...remarks, stringify({ accounts }, { lineWidth: 0, aliasDuplicateObjects: false }).trimEnd()].join('\n'),
        failed: false,
      };
    },
  },
];

/** Returns the people of accounts, invited ones included: the panel compares each account with an empty list. Undefined while it does not answer. */
async function exportMembers(messaging: Messaging, accountIds: readonly string[]): Promise<TenantMember[][] | undefined> {
  try {
    const accounts = accountIds.map((accountId) => ({ accountId, members: [] }));
    const { plans } = await messaging.request(memberPlan, { accounts }, { timeoutMs: PLAN_MS });
    return plans.map(({ removals }) =>
      removals.map(({ name: email = '', project, fields: [field] }) => ({
        ...{ email, role: field?.before as TenantMember['role'] },
        ...(project !== undefined && { project }),
      })),
    );
  } catch (error) {
    if (error instanceof MessagingError && error.kind === 'unavailable') return undefined;
    throw error;
  }
}

/** Compares all accounts. @throws {TenantsFileError} for the faults of all. */
async function planAll(messaging: Messaging, { accounts, fault }: TenantsFile, file: string, prune: boolean): Promise<AccountPlan[]> {
  const plans: AccountPlan[] = [];
  for (let from = 0; from < accounts.length; from += PLANNED_ACCOUNTS_MAX) {
    const batch = accounts.slice(from, from + PLANNED_ACCOUNTS_MAX).map(splitAccount);
    const reply = await messaging.request(accountPlan, { accounts: batch.map(({ account }) => account), prune }, { timeoutMs: PLAN_MS });
    plans.push(...(await planMembers(messaging, batch, reply.plans, prune)));
  }
  const faults = plans.flatMap((plan, index) => plan.faults.map(({ path, problem }) => fault(['accounts', index, ...path], problem)));
  const named = new Map<string, number>();
  for (const [index, { accountId }] of plans.entries()) {
    if (accountId === null) continue;
    if (named.has(accountId)) faults.push(fault(['accounts', index], `is the same account as accounts[${named.get(accountId)}]`));
    named.set(accountId, index);
  }
  if (faults.length > 0) throw new TenantsFileError(file, faults);
  return plans;
}

/** Returns what billing knows of an account, and its list of people, whom the panel knows. */
function splitAccount(entry: object): { account: TenantAccount; members: TenantMember[] | undefined } {
  const { members, ...account } = entry as TenantAccount & { members?: TenantMember[] };
  return { account, members };
}

/** Adds the plans of the members, where a file has some: the panel is not asked for others. */
async function planMembers(
  messaging: Messaging,
  batch: readonly ReturnType<typeof splitAccount>[],
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

const isMember = ({ kind }: AccountPlan['changes'][number]): boolean => kind === 'member';

function demandInvitesFile(plans: readonly AccountPlan[], file: string | undefined): void {
  const invited = plans.flatMap(({ changes }) =>
    changes.filter(({ action, fields: [field] }) => action !== 'remove' && field?.field === 'invite'),
  );
  if (invited.length === 0 || file !== undefined) return;
  const people = invited.length === 1 ? 'a person is' : `${invited.length} people are`;
  throw new UsageError(`${people} new: name a file for their links, such as --invites links.yaml`);
}

type NewKeys = ReadonlyMap<string, NewTenantKey[]>;

/**
 * Makes the keys that are new and writes their secrets, before billing gets the digests. After a crash in between, the next run finds the
 * secrets and uses them: none of their keys is there yet.
 */
async function keepSecrets(
  messaging: Messaging,
  plans: readonly AccountPlan[],
  file: string | undefined,
  format: (typeof SECRETS_FORMATS)[number],
): Promise<NewKeys> {
  const wanted = plans.flatMap(({ name: account, changes }) =>
    changes.flatMap(({ action, kind, project = '', key = '' }) =>
      action === 'create' && kind === 'key' ? [{ account, project, name: key }] : [],
    ),
  );
  if (wanted.length === 0) return new Map();
  if (file === undefined) {
    throw new UsageError(
      `${wanted.length === 1 ? 'a key is' : `${wanted.length} keys are`} new: name a file for the secrets, such as --secrets keys.yaml`,
    );
  }
  if (new Set(wanted.map(renderPlace)).size < wanted.length) {
    throw new UsageError('two accounts of one name have new keys of one name: apply each from a file of its own');
  }
  const kept = new Map((await readSecrets(file)).map((secret) => [renderPlace(secret), secret]));
  const before = kept.size;
  let isChanged = false;
  for (const place of wanted) {
    const found = kept.get(renderPlace(place));
    if (found && !(await hasKey(messaging, found.keyId))) continue;
    kept.set(renderPlace(place), { ...place, keyId: randomUUID(), key: makeApiKey() });
    isChanged = true;
  }
  if (isChanged || before !== kept.size) await writeSecrets(file, [...kept.values()], format);
  const made = wanted.map((place) => kept.get(renderPlace(place)) as KeySecret);
  const rows = made.map(({ account, project, name, keyId, key }) => ({
    account,
    row: { project, name, keyId, keyDigest: digestApiKey(key), lastFour: key.slice(-4) },
  }));
  return new Map([...Map.groupBy(rows, ({ account }) => account)].map(([account, found]) => [account, found.map(({ row }) => row)]));
}

function renderPlace({ account, project, name }: Pick<KeySecret, 'account' | 'project' | 'name'>): string {
  return JSON.stringify([account, project, name]);
}

async function hasKey(messaging: Messaging, keyId: string): Promise<boolean> {
  return (await messaging.request(keyList, { keyId })).keys.length > 0;
}

/** Applies the accounts that differ, one after another. Each is done or not: after a failure the next run continues. */
async function applyAll(
  messaging: Messaging,
  { accounts, name: fileName, digest: fileDigest }: TenantsFile,
  { plans, prune, newKeys, invites }: { plans: readonly AccountPlan[]; prune: boolean; newKeys: NewKeys; invites: string | undefined },
  write: ((text: string) => void) | undefined,
): Promise<AccountPlan[]> {
  const made: AccountPlan[] = [];
  let done = 0;
  for (const [index, plan] of plans.entries()) {
    if (plan.changes.length === 0) {
      made.push(plan);
      continue;
    }
    const keys = newKeys.get(plan.name) ?? [];
    const { account, members = [] } = splitAccount(accounts[index] ?? {});
    const request = { account, prune, fileName, fileDigest };
    const changes: AccountPlan['changes'] = [];
    let { accountId } = plan;
    let remaining = plan.changes.every(isMember) ? 0 : 1;
    try {
      while (remaining > 0) {
        const reply = await messaging.request(accountApply, { ...request, newKeys: keys }, { timeoutMs: APPLY_MS });
        changes.push(...reply.changes);
        ({ accountId, remaining } = reply);
      }
      if (plan.changes.some(isMember) && accountId !== null) {
        const reply = await messaging.request(memberApply, { accountId, members, prune, fileName, fileDigest }, { timeoutMs: APPLY_MS });
        changes.push(...reply.changes);
        if (invites !== undefined && reply.invites.length > 0) await addInvites(invites, plan.name, reply.invites);
      }
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { code, message, param, details } = error;
      throw new ServiceError(code, `account ${plan.name}: ${message} (${done} accounts were changed before)`, param, {
        cause: error,
        ...(details && { details }),
      });
    }
    made.push({ ...plan, changes });
    done += 1;
    if (write && done % 100 === 0) write(`${done} accounts changed\n`);
  }
  return made;
}

async function addInvites(file: string, account: string, invites: readonly MemberInvite[]): Promise<void> {
  await appendPrivate(file, stringify(invites.map((invite) => ({ account, ...invite }))));
}

function renderJson({ name, digest }: TenantsFile, plans: readonly AccountPlan[], applied: boolean): string {
  return JSON.stringify({ file: name, digest, applied, accounts: plans }, null, 2);
}
