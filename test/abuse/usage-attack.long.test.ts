import pg from 'pg';
import { accountUpdate } from '#contracts/billing/accounts.js';
import { keyCreate, keyRevoke } from '#contracts/billing/keys.js';
import { usageQuery } from '#contracts/billing/usage.js';
import { panelInvite } from '#contracts/panel.js';
import { createTenant, type Tenant } from '#testing/tenant.js';
import { FaultStack } from '../e2e/fault-stack.js';
import type { Outcomes } from './attacker.js';
import { AttackerProcess } from './attacker-process.js';

/**
 * One account reads its usage as often and as slowly as it can, with a key and in the panel, while another account and the operator work. They get
 * every reply, and 99 of 100 balances and changes take at most three times as long as alone; reads of the journals share the
 * processors of Postgres with the attack.
 */
const SLOWER_MAX = 3;
const ROUNDS_MAX = 4;
const ATTACK_MS = 20_000;
const ALONE_MS = 10_000;
const SETTLEMENTS = 400_000;
const KEY_READS = 80;
const PANEL_READS = 30;
/** After a refusal. Without it the attack would measure the processor alone. */
const PAUSE_MS = 100;
const DAY_MS = 86_400_000;

let stack: FaultStack;
let attackers: AttackerProcess;
let attacker: Tenant;
let viewer: string;
let operatorCookie: string;

beforeAll(async () => {
  stack = await FaultStack.start({
    // The settlements are of no hold, so the ledger check would freeze the account.
    env: { LOG_LEVEL: 'info', LEDGER_CHECK_INTERVAL_MS: '0' },
    services: ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'],
    ownPostgres: true,
  });
  attackers = await AttackerProcess.start();
  attacker = await createTenant(stack.administrator);
  await fillJournal(attacker);
  viewer = await signIn('viewer', attacker.accountId);
  operatorCookie = await signIn('admin', null);
});
afterAll(async () => {
  await attackers?.stop();
  await stack?.stop();
});

/** Adds settlements of 5,000 users and as many sessions within the last day. */
async function fillJournal({ accountId, projectId, keyId }: Tenant): Promise<void> {
  const database = new pg.Client({ connectionString: stack.facts.databaseUrl });
  await database.connect();
  await database.query(
    `INSERT INTO billing.settlement (hold_id, account_id, project_id, key_id, request_id, model, upstream, reason, held, cost, plan_cost,
       ended_cost, forfeit, topup_cost, over, prompt_tokens, cached_tokens, output_tokens, reasoning_tokens, prompt_source, output_source,
       settled_by, price_version, input_price, cached_input_price, output_price, reserved_at, settled_at, attribution)
     SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7000' || lpad(to_hex(n), 16, '0'))::uuid, $1, $2, $3, 'req_' || n,
       'sim-fast', 'local', 'completed', 10, 10, 0, 0, 0, 10, 0, 10, 0, 0, 0, 'reported', 'reported', 'gateway', 1, 1, 0, 2, at, at,
       jsonb_build_object('user', 'user-' || n % 5000, 'session', 'session-' || n % 4999)
     FROM generate_series(1, $4::int) n, LATERAL (SELECT now() - n * interval '1 day' / $4::int AS at) time`,
    [accountId, projectId, keyId, SETTLEMENTS],
  );
  await database.query('ANALYZE billing.settlement');
  await database.end();
}

/** Makes a person of the panel. Returns the `cookie` header. */
async function signIn(role: 'viewer' | 'admin', accountId: string | null): Promise<string> {
  const { link } = await stack.administrator.request(panelInvite, { role, email: `${role}@example.com`, ...(accountId && { accountId }) });
  const { panelUrl } = stack.facts;
  const body = JSON.stringify({ token: link.replace(/^.*#/, ''), password: 'a quiet orange river' });
  const headers = { origin: panelUrl, 'content-type': 'application/json' };
  const reply = await fetch(`${panelUrl}/panel/v1/invites/accept`, { method: 'POST', headers, body });
  if (reply.status !== 201) throw new Error(await reply.text());
  return reply.headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** Does what a victim does once. Resolves with the fault of the reply, if any. */
type Deed = () => Promise<string | undefined>;

const catchFault = async (reply: Promise<Response>): Promise<string | undefined> => {
  const response = await reply;
  await response.text();
  return response.status === 200 ? undefined : String(response.status);
};
const catchCallFault = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    ({ code }) => String(code),
  );

/** Must be as quick as alone. */
const QUICK = ['the balance of another account', 'a key that the operator revokes', 'an account that the operator freezes'];

const DEEDS: Record<string, Deed> = {
  'the balance of another account': () =>
    catchFault(fetch(`${stack.facts.gatewayUrl}/v1/balance`, { headers: { authorization: `Bearer ${stack.tenant.apiKey}` } })),
  'the usage of another account': () =>
    catchFault(fetch(`${stack.facts.gatewayUrl}/v1/usage?group_by=user`, { headers: { authorization: `Bearer ${stack.tenant.apiKey}` } })),
  'the overview of an operator, for the account that attacks': () =>
    catchFault(
      fetch(`${stack.facts.panelUrl}/panel/v1/accounts/${attacker.accountId}/overview`, {
        headers: { cookie: operatorCookie, origin: stack.facts.panelUrl },
      }),
    ),
  'a key that the operator revokes': async () => {
    const { keyId } = await stack.administrator.request(keyCreate, { projectId: attacker.projectId });
    return catchCallFault(stack.administrator.request(keyRevoke, { keyId }));
  },
  'an account that the operator freezes': async () => {
    const { accountId } = stack.tenant;
    const set = (status: 'frozen' | 'active') => catchCallFault(stack.administrator.request(accountUpdate, { accountId, status }));
    return (await set('frozen')) ?? (await set('active'));
  },
  'the usage of the platform': () =>
    catchCallFault(stack.administrator.request(usageQuery, { from: new Date(Date.now() - DAY_MS).toISOString(), groupBy: ['account'] })),
};

interface Observation {
  faults: string[];
  /** 99th percentile in milliseconds, by deed. */
  p99Ms: Record<string, number>;
}

/**
 * Does everything until `isOver`: balances and changes in turn, and beside them the reads of the journals, which take longer. So there are enough of
 * the first for their 99th percentile.
 */
async function observe(isOver: () => boolean): Promise<Observation> {
  const faults: string[] = [];
  const timesMs: Record<string, number[]> = {};
  const repeat = async (names: string[]): Promise<void> => {
    while (!isOver()) {
      for (const name of names) {
        const start = performance.now();
        const fault = await DEEDS[name]?.();
        timesMs[name] = [...(timesMs[name] ?? []), performance.now() - start];
        if (fault !== undefined) faults.push(`${name}: ${fault}`);
      }
    }
  };
  await Promise.all([repeat(QUICK), repeat(Object.keys(DEEDS).filter((name) => !QUICK.includes(name)))]);
  const p99Of = (times: number[]): number => times.toSorted((a, b) => a - b)[Math.ceil(times.length * 0.99) - 1] ?? 0;
  return { faults, p99Ms: Object.fromEntries(Object.entries(timesMs).map(([name, times]) => [name, Math.round(p99Of(times))])) };
}

const after = (milliseconds: number): (() => boolean) => {
  const end = performance.now() + milliseconds;
  return () => performance.now() >= end;
};

interface Round {
  alone: Observation;
  attacked: Observation;
  key: Outcomes;
  panel: Outcomes;
}

const parsePort = (url: string): number => Number(new URL(url).port);

async function round(): Promise<Round> {
  const { gatewayUrl, panelUrl } = stack.facts;
  const alone = await observe(after(ALONE_MS));
  const attacking = attackers.attack([
    {
      ...{ kind: 'reads', forMs: ATTACK_MS, pauseMs: PAUSE_MS, port: parsePort(gatewayUrl), path: '/v1/usage?group_by=user,session' },
      ...{ connections: KEY_READS, headers: { authorization: `Bearer ${attacker.apiKey}` } },
    },
    {
      ...{
        kind: 'reads',
        forMs: ATTACK_MS,
        pauseMs: PAUSE_MS,
        port: parsePort(panelUrl),
        path: `/panel/v1/accounts/${attacker.accountId}/usage?groupBy=user`,
      },
      ...{ connections: PANEL_READS, headers: { cookie: viewer, origin: panelUrl } },
    },
  ]);
  const attacked = await observe(after(ATTACK_MS));
  const [key = {}, panel = {}] = await attacking;
  process.stderr.write(`usage attack: ${JSON.stringify({ alone, attacked, key, panel })}\n`);
  return { alone, attacked, key, panel };
}

function slower({ alone, attacked }: Round): number {
  return Math.max(...QUICK.map((name) => (attacked.p99Ms[name] ?? 0) / (alone.p99Ms[name] ?? 1)));
}

test('80 usage queries of one key and 30 of one person at once harm neither another account nor the operator [sec-usage-pool]', async () => {
  const rounds: Round[] = [];
  do rounds.push(await round());
  while (rounds.length < ROUNDS_MAX && Math.min(...rounds.map(slower)) > SLOWER_MAX);
  expect(rounds.flatMap(({ alone, attacked }) => [...alone.faults, ...attacked.faults])).toEqual([]);
  expect(Math.min(...rounds.map(slower))).toBeLessThanOrEqual(SLOWER_MAX);
  // The attacker is served, and refused beyond its share with a code that says so.
  for (const { key, panel } of rounds) {
    expect([Object.keys(key), Object.keys(panel)]).toEqual([
      ['200', '429'],
      ['200', '429'],
    ]);
  }
});
