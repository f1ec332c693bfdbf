import { stringify } from 'yaml';
import { type AccountPlan, accountExport, type TenantAccount } from '#contracts/billing/tenants.js';
import { memberPlan, type TenantMember } from '#contracts/tenant-members.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { completeIds } from '../complete-ids.js';
import { accountId, flag, oneOf, optional, required, text } from '../parameters.js';
import { applyPlanned } from '../tenants/apply-planned.js';
import { demandFiles, keepSecrets } from '../tenants/keep-secrets.js';
import { findSource, PLAN_MS, planFile } from '../tenants/plan-file.js';
import { renderPlans } from '../tenants/render-plan.js';
import { SECRETS_FORMATS } from '../tenants/secrets-file.js';
import { readTenantsFile, type TenantsFile } from '../tenants/tenants-file.js';

const APPLY_PARAMETERS = {
  file: { ...required(text(500, 'file'), 'such as tenants.yaml'), short: 'f' },
  plan: flag('show what would change, and change nothing'),
  prune: flag("remove what the file's accounts have and the file does not: keys are revoked, projects disabled"),
  release: flag('give up the accounts of the file: what it manages loses its mark, and nothing else changes'),
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
      const options = values as Values<typeof APPLY_PARAMETERS>;
      const { file, prune = false, release = false, secrets, secretsFormat = 'yaml', invites } = options;
      const tenants = await readTenantsFile(file);
      const messaging = await connect();
      const planned = await planFile(messaging, tenants, { file, prune, release });
      const plans = planned.map(({ plan }) => plan);
      if (options.plan) return { text: json ? renderJson(tenants, plans, false) : renderPlans(plans, 'planned'), failed: false };
      demandFiles(planned, { secrets, invites });
      const newKeys = await keepSecrets(messaging, planned, secrets, secretsFormat);
      const named = { source: findSource(tenants), fileName: tenants.name, fileDigest: tenants.digest };
      const made = await applyPlanned(messaging, planned, {
        ...{ ...named, prune, newKeys, invites, secrets: { file: secrets, format: secretsFormat } },
        write: json ? undefined : write,
      });
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
      const managed: { account: string; managedBy: string }[] = [];
      let cursor: string | undefined;
      do {
        const reply = await messaging.request(accountExport, { accountId: account, cursor }, { timeoutMs: PLAN_MS });
        const ids = reply.accounts.map(({ accountId }) => accountId);
        const people = ids.length === 0 ? [] : await exportMembers(messaging, ids);
        if (!people) leftOut.push('members: the panel does not answer');
        for (const [index, exported] of reply.accounts.entries()) {
          const members = people?.[index];
          accounts.push({ ...exported.account, ...(members && { members }) });
          const { name } = exported.account;
          if (exported.managedBy !== undefined) managed.push({ account: name, managedBy: exported.managedBy });
          leftOut.push(...exported.leftOut.map((one) => `account ${exported.account.name}: ${one}`));
        }
        cursor = reply.nextCursor ?? undefined;
      } while (cursor !== undefined);
      if (json) return { text: JSON.stringify({ accounts, leftOut, managed }, null, 2), failed: false };
      const head = ['# yaml-language-server: $schema=./tenants.schema.json'];
      const remarks = [
        ...managed.map((one) => `account ${one.account} is managed by ${one.managedBy}`),
        ...leftOut.map((one) => `not in this file: ${one}`),
      ].map((one) => `# ${one.replaceAll(/\s+/g, ' ')}`);
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

function renderJson(tenants: TenantsFile, plans: readonly AccountPlan[], applied: boolean): string {
  const { name: file, digest } = tenants;
  return JSON.stringify({ file, source: findSource(tenants), digest, applied, accounts: plans }, null, 2);
}
