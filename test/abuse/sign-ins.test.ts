import { setTimeout as delay } from 'node:timers/promises';
import { panelInvite } from '#contracts/panel.js';
import { longOr } from '#testing/long-run.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator } from '#testing/tenant.js';
import type { Outcomes } from './attacker.js';
import { AttackerProcess } from './attacker-process.js';

/**
 * A flood of wrong passwords from one address, while an admin uses the panel from the same one. The usual run only reports how much slower
 * the panel is, because it is noisy on a shared machine; the long run asserts it.
 */
const SLOWER_MAX = longOr(Number.POSITIVE_INFINITY, 3);
const ROUNDS_MAX = longOr(1, 4);
const ALONE_MS = longOr(2_000, 10_000);
const FLOOD_MS = longOr(8_000, 30_000);
const EMAIL = 'admin@example.com';
const PASSWORD = 'a quiet orange river';

let stack: RunningStack;
let attacker: AttackerProcess;
let cookie: string;
beforeAll(async () => {
  [stack, attacker] = await Promise.all([startPrivateStack({ services: ['billing', 'catalog', 'panel'] }), AttackerProcess.start()]);
  const administrator = await connectAdministrator(stack);
  const { link } = await administrator.request(panelInvite, { role: 'admin', email: EMAIL });
  await administrator.close();
  const accepted = await post('/invites/accept', { token: new URL(link).hash.slice(1), password: PASSWORD });
  expect(accepted.status).toBe(201);
  cookie = accepted.headers.get('set-cookie')?.split(';')[0] ?? '';
});
afterAll(() => Promise.all([attacker?.stop(), stack?.stop()]));

function post(path: string, body: object): Promise<Response> {
  const headers = { origin: stack.panelUrl, 'content-type': 'application/json' };
  return fetch(`${stack.panelUrl}/panel/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Loads the list of accounts again and again until `ends` resolves. Returns the statuses, and the 99th percentile of the times. */
async function browse(ends: Promise<unknown>): Promise<{ statuses: Outcomes; p99Ms: number }> {
  let isOver = false;
  void ends.finally(() => (isOver = true));
  const statuses: Outcomes = {};
  const timesMs: number[] = [];
  while (!isOver) {
    const startedAt = performance.now();
    const reply = await fetch(`${stack.panelUrl}/panel/v1/accounts`, { headers: { cookie } });
    await reply.arrayBuffer();
    timesMs.push(performance.now() - startedAt);
    statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
    await delay(10);
  }
  timesMs.sort((one, other) => one - other);
  return { statuses, p99Ms: timesMs[Math.ceil(timesMs.length * 0.99) - 1] ?? Number.POSITIVE_INFINITY };
}

test('200 connections of wrong passwords harm no page, and the admin still signs in [sec-sign-in-flood]', async () => {
  const port = Number(new URL(stack.panelUrl).port);
  let slower = Number.POSITIVE_INFINITY;
  let rounds = 0;
  do {
    rounds++;
    const alone = await browse(delay(ALONE_MS));
    const flood = attacker.attack([{ kind: 'wrong-passwords', port, forMs: FLOOD_MS, connections: 200 }]);
    const [attacked, signIn, [outcomes = {}]] = await Promise.all([browse(flood), signInMeanwhile(), flood]);
    slower = Math.min(slower, attacked.p99Ms / alone.p99Ms);
    process.stderr.write(`p99 alone ${alone.p99Ms.toFixed()} attacked ${attacked.p99Ms.toFixed()} ms; ${JSON.stringify(outcomes)}\n`);
    expect([Object.keys(alone.statuses), Object.keys(attacked.statuses), signIn]).toEqual([['200'], ['200'], 201]);
    expect(Object.keys(outcomes).filter((outcome) => !['401', '429', 'closed', 'unanswered'].includes(outcome))).toEqual([]);
    expect(outcomes['401'] ?? 0).toBeLessThanOrEqual(50);
  } while (rounds < ROUNDS_MAX && slower > SLOWER_MAX);
  expect(slower).toBeLessThanOrEqual(SLOWER_MAX);
});

/** Signs the admin in during the flood. While the address has not used up its failures, the admin waits as strangers do, and tries again. */
async function signInMeanwhile(): Promise<number> {
  for (;;) {
    const { status, headers } = await post('/session', { email: EMAIL, password: PASSWORD });
    if (status !== 429) return status;
    await delay(1_000 * Math.min(Number(headers.get('retry-after')), 2));
  }
}
