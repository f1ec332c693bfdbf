import { DEMO_KEYS, DEMO_PROJECTS, type DemoKey, RETIRED_KEY } from './demo-requests.ts';
import { commonEnvironment } from './environments.ts';
import { NODE, ROOT, StartError } from './project.mjs';
import { runCommand } from './run-command.mjs';
import { COMMAND_LINE } from './services.ts';

interface NatsAccess {
  natsUrl: string;
  /** Password of the NATS user `cli`. */
  natsPassword: string;
}

/** Money and limits of the demo account. */
export interface DemoOptions {
  usd?: string;
  requestsPerMinute?: number;
  concurrency?: number;
}

/** The demo account. */
export interface Demo {
  accountId: string;
  projectId: string;
  apiKey: string;
}

/** Creates an account with money, a project and a key with CLI commands. */
export async function createDemo({
  natsUrl,
  natsPassword,
  usd = '100.00',
  requestsPerMinute = 6000,
  concurrency = 200,
}: NatsAccess & DemoOptions): Promise<Demo> {
  const tollgate = commandLine({ natsUrl, natsPassword });
  const { accountId } = await tollgate<{ accountId: string }>('account', 'create', '--name', 'demo');
  const [, { projectId }] = await Promise.all([
    tollgate('topup', '--account', accountId, '--usd', usd, '--payment-id', `demo-${accountId}`),
    tollgate<{ projectId: string }>(
      ...['project', 'create', '--account', accountId, '--name', 'demo'],
      ...['--rpm', String(requestsPerMinute), '--concurrency', String(concurrency)],
    ),
  ]);
  const { key } = await tollgate<{ key: string }>('key', 'create', '--project', projectId);
  return { accountId, projectId, apiKey: key };
}

/** Returns a one-time link that makes the first admin of the panel; undefined when there is one. */
export async function createPanelLink({ natsUrl, natsPassword }: NatsAccess): Promise<string | undefined> {
  const tollgate = commandLine({ natsUrl, natsPassword });
  const { users } = await tollgate<{ users: unknown[] }>('panel', 'users', '--role', 'admin');
  if (users.length > 0) return undefined;
  return (await tollgate<{ link: string }>('panel', 'invite', '--admin')).link;
}

const PLAN_DAYS = 20;
const DAY_MS = 86_400_000;

/**
 * Creates the projects, keys and budgets of the demo traffic in an account, and movements of each kind on its statement. Returns the API keys by
 * their names in `DEMO_KEYS`.
 */
export async function createDemoProjects({
  natsUrl,
  natsPassword,
  accountId,
}: NatsAccess & { accountId: string }): Promise<Record<DemoKey, string>> {
  const tollgate = commandLine({ natsUrl, natsPassword });
  const account = ['--account', accountId];
  const setBudget = (period: string, usd: string, ...of: string[]): Promise<unknown> =>
    tollgate('budget', 'set', ...account, '--period', period, '--limit', usd, ...of);
  const projects = await runEach(DEMO_PROJECTS, async (name, { requestsPerMinute, concurrency, budget }) => {
    const limits = ['--rpm', String(requestsPerMinute), '--concurrency', String(concurrency)];
    const { projectId } = await tollgate<{ projectId: string }>('project', 'create', ...account, '--name', name, ...limits);
    await setBudget(budget.period, budget.usd, '--project', projectId);
    return projectId;
  });
  await setBudget('month', '5');
  const keys = await runEach(DEMO_KEYS, (name, project) =>
    tollgate<{ keyId: string; key: string }>('key', 'create', '--project', projects[project], '--name', name),
  );
  await tollgate('key', 'revoke', keys[RETIRED_KEY].keyId);
  const id = (what: string): string => `demo-${what}-${accountId}`;
  const expires = new Date(Date.now() + PLAN_DAYS * DAY_MS).toISOString();
  await tollgate('plan', 'grant', ...account, '--usd', '20', '--expires', expires, '--grant-key', id('plan'));
  await tollgate('topup', ...account, '--usd', '25', '--payment-id', id('payment'));
  await tollgate(
    'refund',
    ...account,
    '--usd',
    '5',
    '--payment-id',
    id('payment'),
    '--refund-id',
    id('refund'),
    '--reason',
    'part of an order',
  );
  await tollgate('adjust', ...account, '--usd', '2.50', '--adjustment-id', id('goodwill'), '--reason', 'goodwill');
  return Object.fromEntries(Object.entries(keys).map(([name, { key }]) => [name, key])) as Record<DemoKey, string>;
}

/** Calls `work(name, value)` for each property in order, and returns the results by name. */
async function runEach<Name extends string, Value, Result>(
  values: Record<Name, Value>,
  work: (name: Name, value: Value) => Promise<Result>,
): Promise<Record<Name, Result>> {
  const results: Partial<Record<Name, Result>> = {};
  for (const name of Object.keys(values) as Name[]) results[name] = await work(name, values[name]);
  return results as Record<Name, Result>;
}

/** Resolves to true when the gateway accepts the key. */
export async function keyWorks(gatewayUrl: string, apiKey: string): Promise<boolean> {
  const response = await fetch(`${gatewayUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
  await response.arrayBuffer();
  return response.ok;
}

/** Returns a function that runs a command of the CLI, given its words, and returns its JSON. */
export function commandLine({ natsUrl, natsPassword }: NatsAccess): <Reply>(...words: string[]) => Promise<Reply> {
  const environment = { ...commonEnvironment(), NATS_URL: natsUrl, NATS_CLI_PASSWORD: natsPassword };
  return async <Reply>(...words: string[]) => {
    const options = { cwd: ROOT, env: environment, failure: `tollgate ${words.slice(0, 2).join(' ')}` };
    const output = await runCommand(NODE, [COMMAND_LINE, ...words, '--json'], options);
    try {
      return JSON.parse(output) as Reply;
    } catch {
      throw new StartError(`${options.failure} printed no JSON`);
    }
  };
}
