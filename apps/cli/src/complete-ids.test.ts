import type { Endpoint } from '#contracts/endpoint.js';
import type { Messaging } from '#messaging/messaging.js';
import { runCli } from './run-cli.js';

const ACME = '0190a6f0-7c1e-7000-8000-000000000001';
const DEMO = '0190a6f0-7c1e-7000-8000-000000000002';
const WEB = '0190b000-7c1e-7000-8000-000000000003';
const OLD_KEY = '0190c000-7c1e-7000-8000-000000000004';
const KEY = '0190d000-7c1e-7000-8000-000000000005';
const ACCOUNTS = [
  { accountId: ACME, name: 'acme' },
  { accountId: DEMO, name: 'demo\u001b' },
];
const OTHER_WEB = '0190b111-7c1e-7000-8000-000000000006';
const NEW_KEY = '0190e000-7c1e-7000-8000-000000000007';
const active = { status: 'active', replacedBy: null };
const KEYS = [
  { keyId: OLD_KEY, name: 'ci', lastFour: 'aaaa', ...active },
  { keyId: KEY, name: null, lastFour: 'bbbb', ...active },
];
const ROTATED = [
  { keyId: OLD_KEY, name: 'ci', lastFour: 'aaaa', status: 'active', replacedBy: NEW_KEY },
  { keyId: KEY, name: 'ci', lastFour: 'bbbb', status: 'revoked', replacedBy: null },
  { keyId: NEW_KEY, name: 'ci', lastFour: 'cccc', ...active },
];
/** Two accounts have a project of this name. */
const WEBS = [
  { projectId: WEB, name: 'web', accountId: ACME },
  { projectId: OTHER_WEB, name: 'Web', accountId: DEMO },
  { projectId: NEW_KEY, name: 'web', accountId: DEMO },
];

interface Lists {
  accounts?: object[];
  projects?: object[];
  keys?: object[];
}

/** Runs a command line against a service that has these lists, one row a page, and answers everything else with an empty object. */
async function run(
  line: string,
  { accounts = [], projects = [], keys = [] }: Lists,
): Promise<{ code: number; err: string; asked: object[] }> {
  const lists: Record<string, [field: string, rows: object[]]> = {
    'billing.v1.account.list': ['accounts', accounts],
    'billing.v1.project.list': ['projects', projects],
    'billing.v1.key.list': ['keys', keys],
  };
  const asked: object[] = [];
  const fake: Pick<Messaging, 'request' | 'close'> = {
    request: async <Request extends object, Reply>({ subject }: Endpoint<Request, Reply>, payload: Request) => {
      const [field, rows] = lists[subject] ?? [];
      if (!field || !rows) {
        asked.push({ subject, payload: JSON.parse(JSON.stringify(payload)) });
        return {} as Reply;
      }
      const { cursor = '0', accountId } = payload as { cursor?: string; accountId?: string };
      const found = rows.filter((row) => !('accountId' in row) || field === 'accounts' || !accountId || row.accountId === accountId);
      const page = Number(cursor);
      return { [field]: found.slice(page, page + 1), nextCursor: page + 1 < found.length ? String(page + 1) : null } as Reply;
    },
    close: async () => undefined,
  };
  const errors: string[] = [];
  const output = { writeOut: () => undefined, writeErr: (text: string) => void errors.push(text) };
  const code = await runCli([...line.split(' '), '--json'], output, async () => fake as Messaging);
  const [document] = errors.map((text) => JSON.parse(text) as { error: { message: string } });
  return { code, err: document?.error.message ?? '', asked };
}

describe('an id is completed', () => {
  test.each<[line: string, lists: Lists, subject: string, payload: object]>([
    ['balance', { accounts: ACCOUNTS.slice(0, 1) }, 'billing.v1.balance.get', { accountId: ACME }],
    [`balance --account ${DEMO}`, {}, 'billing.v1.balance.get', { accountId: DEMO }],
    [`balance --account ${DEMO.toUpperCase()}`, {}, 'billing.v1.balance.get', { accountId: DEMO }],
    ['key create', { projects: [{ projectId: WEB, name: 'web' }] }, 'billing.v1.key.create', { projectId: WEB }],
    ['key revoke 0190D', { keys: KEYS }, 'billing.v1.key.revoke', { keyId: KEY }],
    ['holds list --account 0190a', { accounts: ACCOUNTS.slice(1) }, 'billing.v1.hold.list', { accountId: DEMO }],
    ['holds list', { accounts: ACCOUNTS }, 'billing.v1.hold.list', {}],
    [
      'project update 0190b --disabled',
      { projects: [{ projectId: WEB, name: 'web' }] },
      'billing.v1.project.update',
      { projectId: WEB, enabled: false },
    ],
    ['balance --account ACME', { accounts: ACCOUNTS }, 'billing.v1.balance.get', { accountId: ACME }],
    ['key create --project Web', { projects: WEBS }, 'billing.v1.key.create', { projectId: OTHER_WEB }],
    ['key create --project web --account acme', { accounts: ACCOUNTS, projects: WEBS }, 'billing.v1.key.create', { projectId: WEB }],
    ['key revoke ci', { keys: ROTATED }, 'billing.v1.key.revoke', { keyId: NEW_KEY }],
    ['key revoke CI', { keys: ROTATED.slice(0, 1) }, 'billing.v1.key.revoke', { keyId: OLD_KEY }],
    ['balance --account cafe', { accounts: [{ accountId: ACME, name: 'cafe' }] }, 'billing.v1.balance.get', { accountId: ACME }],
    [
      `budget set --account acme --project web --key ci --period day --limit 1`,
      { accounts: ACCOUNTS, projects: WEBS, keys: ROTATED },
      'billing.v1.budget.set',
      { accountId: ACME, projectId: WEB, keyId: NEW_KEY, period: 'day', limitPicoUsd: '1000000000000' },
    ],
  ])('%s', async (line, lists, subject, payload) => {
    expect(await run(line, lists)).toEqual({ code: 0, err: '', asked: [{ subject, payload }] });
  });
});

describe('an id that fits none or several changes nothing', () => {
  const many = Array.from({ length: 7 }, (_, index) => ({ accountId: `${ACME.slice(0, -1)}${index}`, name: `a${index}` }));
  test.each<[line: string, lists: Lists, err: string]>([
    ['balance', { accounts: ACCOUNTS }, `--account is required: there are 2 accounts: ${ACME} (acme), ${DEMO} (demo\u{fffd})`],
    ['balance', {}, '--account is required: there is no account'],
    ['key create', {}, '--project is required: there is no project'],
    [
      'account update 0190a6f0-7c --active',
      { accounts: ACCOUNTS },
      `0190a6f0-7c is the start of 2 accounts: ${ACME} (acme), ${DEMO} (demo\u{fffd})`,
    ],
    ['key revoke 0190', { keys: KEYS }, `0190 is the start of 2 keys: ${OLD_KEY} (ci), ${KEY} (…bbbb)`],
    ['key revoke 0190e', { keys: KEYS }, 'there is no key 0190e'],
    ['balance --account acne', { accounts: ACCOUNTS }, 'there is no account acne (Did you mean acme?)'],
    ['balance --account de', { accounts: ACCOUNTS }, 'there is no account de (Did you mean demo\u{fffd}?)'],
    ['balance --account globex', { accounts: ACCOUNTS }, 'there is no account globex'],
    ['key create --project WEB', { projects: WEBS }, `WEB is the name of 3 projects: ${WEB} (web), ${OTHER_WEB} (Web), ${NEW_KEY} (web)`],
    [
      'key create --project web --account demo2',
      { accounts: [{ accountId: ACME, name: 'demo' }], projects: WEBS },
      'there is no account demo2 (Did you mean demo?)',
    ],
    [
      'balance',
      { accounts: many },
      `--account is required: there are 7 accounts: ${many
        .slice(0, 5)
        .map(({ accountId, name }) => `${accountId} (${name})`)
        .join(', ')} and 2 more`,
    ],
    [
      'balance',
      { accounts: Array.from({ length: 21 }, () => ACCOUNTS[0] as object) },
      'there are too many accounts to search: give the whole id',
    ],
  ])('%s', async (line, lists, err) => {
    expect(await run(line, lists)).toEqual({ code: 2, err, asked: [] });
  });
});
