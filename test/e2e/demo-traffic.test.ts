import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accountCreate } from '#contracts/billing/accounts.js';
import { keyList } from '#contracts/billing/keys.js';
import { topupCreate } from '#contracts/billing/money.js';
import { movementList } from '#contracts/billing/movements.js';
import { projectList } from '#contracts/billing/projects.js';
import type { Messaging } from '#messaging/messaging.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, untilNoHolds } from '#testing/tenant.js';
import { type DemoTally, runDemoTraffic } from '../../scripts/local/demo-traffic.ts';

/** The traffic of `npm start -- --demo-traffic`, in a tenth of its time. */
const SECONDS = 8;
let administrator: Messaging;
let accountId: string;
let dataDir: string;
let lines: string[];

beforeAll(async () => {
  administrator = await connectAdministrator(stack());
  ({ accountId } = await administrator.request(accountCreate, { name: 'demo traffic' }));
  await administrator.request(topupCreate, { accountId, usd: '100', paymentId: `first-${accountId}` });
  dataDir = mkdtempSync(join(tmpdir(), 'demo-traffic-'));
});
beforeEach(() => {
  lines = [];
});
afterAll(async () => {
  rmSync(dataDir, { recursive: true });
  await administrator?.close();
});

function send(signal: AbortSignal): Promise<DemoTally | undefined> {
  const say = (subject: string, text: string): void => void lines.push(`${subject}: ${text}`);
  return runDemoTraffic({ dataDir, stack: { ...stack(), accountId }, say, signal, seconds: SECONDS });
}

test('sends requests of every outcome and says how many', async () => {
  const tally = (await send(new AbortController().signal)) as DemoTally;
  expect(Object.values(tally).filter((count) => count === 0)).toEqual([]);
  const { answered, refused, failed, left } = tally;
  expect(lines.at(0)).toBe('demo traffic: creates its projects and keys');
  expect(lines.at(-1)?.replace(/\d+\.\d s/, '_ s')).toBe(
    `demo traffic: ${answered + refused + failed + left} requests in _ s: ${answered} answered, ${refused} refused, ${failed} failed, ${left} left`,
  );
  await untilNoHolds(administrator, accountId);
});

test('creates two projects, their keys, and a movement of each kind, once', async () => {
  const abort = new AbortController();
  abort.abort();
  expect(await send(abort.signal)).toBeUndefined();
  expect(lines).toEqual([]);
  const { projects } = await administrator.request(projectList, { accountId });
  const { keys } = await administrator.request(keyList, { accountId });
  const { movements } = await administrator.request(movementList, { accountId });
  expect({
    projects: projects.map(({ name }) => name),
    keys: keys.map(({ name, revokedAt }) => [name, revokedAt !== null]),
    movements: movements.map(({ kind }) => kind),
    kept: Object.keys((JSON.parse(readFileSync(join(dataDir, 'demo-traffic.json'), 'utf8')) as { keys: object }).keys),
  }).toEqual({
    projects: ['web', 'research'],
    keys: [
      ['web-production', false],
      ['web-staging', false],
      ['web-retired', true],
      ['research-notebook', false],
      ['research-batch', false],
    ],
    movements: ['credit', 'refund', 'topup', 'grant', 'topup'],
    kept: ['web-production', 'web-staging', 'web-retired', 'research-notebook', 'research-batch'],
  });
});
