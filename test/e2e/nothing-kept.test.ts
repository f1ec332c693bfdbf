import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { accountCreate } from '#contracts/billing/accounts.js';
import { budgetSet } from '#contracts/billing/budgets.js';
import { childKeyMint, childKeyRevoke } from '#contracts/billing/child-keys.js';
import { offerModels } from '#testing/offered-models.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, untilNoHolds } from '#testing/tenant.js';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';
import { DIALECTS } from './pairs/scenario.js';
import { listEntries, modelAt, startUpstreams, type Upstreams } from './pairs/upstreams.js';

/** The words of a prompt and of its reply. A search of everything that the services wrote must not find them. */
const PROMPT_WORD = 'zebraprompt7f3a';
const REPLY_WORD = 'walrusreply91cd';
/** An account's name is stored, so the search must find it. */
const STORED_WORD = 'otteraccount55b0';
const POLL_MS = 50;
const MESSAGES = [{ role: 'user', content: 'Hello' }];

let running: RunningStack;
let upstreams: Upstreams;
beforeAll(async () => {
  const env = { LOG_LEVEL: 'debug', ROUTE_COOLDOWN_MS: '1', RETRY_AFTER_MAX_MS: '0' };
  const services = ['gateway', 'inference-proxy', 'billing', 'catalog'] as const;
  [running, upstreams] = await Promise.all([
    startPrivateStack({ layout: 'all', env, services: [...services], ownPostgres: true }),
    startUpstreams(),
  ]);
  const administrator = await connectAdministrator(running);
  const { apiKey } = await createTenant(administrator);
  await offerModels(administrator, running, apiKey, listEntries(upstreams));
  await administrator.close();
});
afterAll(async () => {
  await Promise.all([running?.stop(), ...Object.values(upstreams ?? {}).map((sim) => sim.close())]);
});

test('no prompt and no reply is kept: database, NATS and logs do not have their words [no-stored-state]', async () => {
  const administrator = await connectAdministrator(running);
  try {
    await administrator.request(accountCreate, { name: STORED_WORD });
    const { apiKey } = await createTenant(administrator);
    const requestIds: string[] = [];
    let replies = '';
    for (const format of Object.keys(CLIENT_FORMATS) as FormatName[]) {
      for (const dialect of DIALECTS) {
        for (const fault of ['', 'cut=3', 'status=400', 'overflow', 'nousage']) {
          for (const stream of [false, true]) {
            const text = `${PROMPT_WORD} [[sim say="${REPLY_WORD} ${REPLY_WORD}" ${fault}]]`;
            const { path, body } = CLIENT_FORMATS[format];
            const response = await fetch(running.gatewayUrl + path, {
              method: 'POST',
              headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
              body: JSON.stringify(body({ model: modelAt('sim-fast', dialect), text, stream, outputTokensMax: 100, withTool: true })),
            });
            requestIds.push(response.headers.get('x-request-id') ?? '');
            replies += await response.text();
          }
        }
      }
    }
    expect(replies).toContain(REPLY_WORD);
    await writeDatabaseFiles();
    await untilLogged(requestIds);
    const written = filesBelow(dirname(running.logDir)).map((file) => ({ file, bytes: readFileSync(file) }));
    const filesWith = (word: string): string[] => written.filter(({ bytes }) => bytes.includes(word)).map(({ file }) => file);
    expect({ prompt: filesWith(PROMPT_WORD), reply: filesWith(REPLY_WORD) }).toEqual({ prompt: [], reply: [] });
    // The search finds what is there.
    expect(filesWith(STORED_WORD).some((file) => file.includes('postgres'))).toBe(true);
  } finally {
    await administrator.close();
  }
});

test('no child key is kept, whether it was used, refused or revoked: database, NATS and logs have its id alone', async () => {
  const administrator = await connectAdministrator(running);
  try {
    const { accountId, keyId, apiKey } = await createTenant(administrator);
    await administrator.request(budgetSet, { accountId, keyId, dimension: 'child', period: 'total', limitPicoUsd: '1000000000' });
    const { childId, key } = await administrator.request(childKeyMint, { keyId, seconds: 600 });
    const below = (await (await post('/v1/key/children', key)).json()) as { id: string; key: string };
    const requestIds: string[] = [];
    const use = async (sent: string): Promise<number> => {
      const response = await post('/v1/chat/completions', sent, {
        model: modelAt('sim-fast', DIALECTS[0]),
        max_tokens: 20,
        messages: MESSAGES,
      });
      requestIds.push(response.headers.get('x-request-id') ?? '');
      return response.status;
    };
    const forged = `${below.key.slice(0, -43)}${'A'.repeat(43)}`;
    const statuses = [await use(key), await use(below.key), await use(forged), await use(`${key}x`)];
    await administrator.request(childKeyRevoke, { keyId, childId });
    expect([...statuses, await use(below.key)]).toEqual([200, 200, 401, 401, 401]);
    await untilNoHolds(administrator, accountId);
    await writeDatabaseFiles();
    await untilLogged(requestIds);
    const written = filesBelow(dirname(running.logDir)).map((file) => readFileSync(file, 'latin1'));
    const isKept = (text: string): boolean => written.some((file) => file.includes(text));
    expect(['tg_child_', key.slice(-43), below.key.slice(-43), apiKey].filter(isKept)).toEqual([]);
    // The search finds what is there.
    expect([childId, below.id].filter(isKept)).toEqual([childId, below.id]);
  } finally {
    await administrator.close();
  }
});

function post(path: string, key: string, body: object = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  return fetch(running.gatewayUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Makes Postgres write to its files what it holds in memory. */
async function writeDatabaseFiles(): Promise<void> {
  const client = new pg.Client({ connectionString: running.databaseUrl });
  await client.connect();
  await client.query('CHECKPOINT');
  await client.end();
}

/** Resolves when the logs have a line of each request; they are written a moment after the reply. */
async function untilLogged(requestIds: readonly string[]): Promise<void> {
  const isLogged = (): boolean => {
    const logs = filesBelow(running.logDir).map((file) => readFileSync(file, 'utf8'));
    return requestIds.every((id) => logs.some((log) => log.includes(id)));
  };
  while (!isLogged()) await delay(POLL_MS);
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
