import { join } from 'node:path';
import { commonEnvironment } from './environments.mjs';
import { NODE, ROOT, StartError } from './project.mjs';
import { runCommand } from './run-command.mjs';

/** Creates an account with money, a project and a key with CLI commands. Returns `{ accountId, projectId, apiKey }`. */
export async function createDemo({ natsUrl, natsPassword, usd = '100.00', requestsPerMinute = 6000, concurrency = 200 }) {
  const tollgate = commandLine({ natsUrl, natsPassword });
  const { accountId } = await tollgate('account', 'create', '--name', 'demo');
  const [, { projectId }] = await Promise.all([
    tollgate('topup', '--account', accountId, '--usd', usd, '--payment-id', `demo-${accountId}`),
    tollgate(
      ...['project', 'create', '--account', accountId, '--name', 'demo'],
      ...['--rpm', String(requestsPerMinute), '--concurrency', String(concurrency)],
    ),
  ]);
  const { key } = await tollgate('key', 'create', '--project', projectId);
  return { accountId, projectId, apiKey: key };
}

/** Returns a one-time link that makes the first admin of the panel; undefined when there is one. */
export async function createPanelLink({ natsUrl, natsPassword }) {
  const tollgate = commandLine({ natsUrl, natsPassword });
  const { users } = await tollgate('panel', 'users', '--role', 'admin');
  if (users.length > 0) return undefined;
  return (await tollgate('panel', 'invite', '--admin')).link;
}

/** Resolves to true when the gateway accepts the key. */
export async function keyWorks(gatewayUrl, apiKey) {
  const response = await fetch(`${gatewayUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
  await response.arrayBuffer();
  return response.ok;
}

function commandLine({ natsUrl, natsPassword }) {
  const environment = { ...commonEnvironment(), NATS_URL: natsUrl, NATS_CLI_PASSWORD: natsPassword };
  return async (...words) => {
    const options = { cwd: ROOT, env: environment, failure: `tollgate ${words.slice(0, 2).join(' ')}` };
    const output = await runCommand(NODE, [join(ROOT, 'dist/apps/cli/src/main.js'), ...words, '--json'], options);
    try {
      return JSON.parse(output);
    } catch {
      throw new StartError(`${options.failure} printed no JSON`);
    }
  };
}
