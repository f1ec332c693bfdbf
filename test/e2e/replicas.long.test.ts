import { setTimeout as delay } from 'node:timers/promises';
import { createTenant } from '#testing/tenant.js';
import { type Answer, ManyReplicas } from '../chaos/many-replicas.js';

/** Takes a real minute. */
const LIMIT = 20;
const ASK_EVERY_MS = 50;

let system: ManyReplicas;
beforeAll(async () => {
  system = await ManyReplicas.start();
}, 120_000);
afterAll(() => system?.stop(), 60_000);

test('Retry-After of requests per minute is exact: a request at that time succeeds, one a second earlier is refused', async () => {
  const { apiKey } = await createTenant(system.administrator, { requestsPerMinuteMax: LIMIT });
  const first: Answer[] = [];
  for (let index = 0; index < LIMIT; index++) first.push(await system.ask(apiKey, index, 'tokens=1'));
  expect(first.map(({ status }) => status)).toEqual(first.map(() => 200));

  const refused = await system.ask(apiKey, LIMIT, 'tokens=1');
  expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limit_exceeded' } } });
  const refusals = [refused];
  // Sent continuously from two seconds before: every refusal names the same moment.
  await untilTime(refused.receivedAt + (refused.retryAfter - 2) * 1_000);
  let admitted: Answer | undefined;
  for (let index = 0; admitted === undefined; index++) {
    const answer = await system.ask(apiKey, index, 'tokens=1');
    if (answer.status === 429) refusals.push(answer);
    else admitted = answer;
    if (answer.sentAt > refused.receivedAt + refused.retryAfter * 1_000) break;
    await delay(ASK_EVERY_MS);
  }

  expect(admitted?.status).toBe(200);
  const { sentAt: notYetAt = 0 } = refusals.at(-1) ?? {};
  const { receivedAt: byThenAt = 0 } = admitted ?? {};
  // Not early: a client that waits is admitted. Not late: a second less is refused.
  expect(refusals.filter(({ receivedAt, retryAfter }) => receivedAt + retryAfter * 1_000 < notYetAt)).toEqual([]);
  expect(refusals.filter(({ sentAt, retryAfter }) => sentAt + (retryAfter - 1) * 1_000 > byThenAt)).toEqual([]);
  expect(refusals.length).toBeGreaterThan(10);
}, 180_000);

test('each place of the minute becomes free separately: as many requests are admitted as have left the window', async () => {
  const { apiKey } = await createTenant(system.administrator, { requestsPerMinuteMax: 3 });
  const admittedAt: number[] = [];
  for (const waitMs of [0, 3_000, 3_000]) {
    await delay(waitMs);
    const answer = await system.ask(apiKey, admittedAt.length, 'tokens=1');
    expect(answer.status).toBe(200);
    admittedAt.push(answer.receivedAt);
  }
  for (const _place of admittedAt) {
    const refused = await system.ask(apiKey, 3, 'tokens=1');
    expect(refused.status).toBe(429);
    await untilTime(refused.receivedAt + refused.retryAfter * 1_000);
    expect((await system.ask(apiKey, 4, 'tokens=1')).status).toBe(200);
  }
}, 180_000);

async function untilTime(at: number): Promise<void> {
  await delay(Math.max(0, at - performance.now()));
}
