import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { holdList } from '#contracts/billing/holds.js';
import { keyRevoke } from '#contracts/billing/keys.js';
import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';
import { heard } from './fault-stack.js';

/**
 * The surviving service settles (docs/settlement.md, "Failures of a process"). The reaper runs late, and the reason of a settlement shows which
 * service settled.
 */
const settings = {
  LEASE_MS: '12000',
  REAPER_INTERVAL_MS: '500',
  REAPER_GRACE_MS: '500',
  SETTLE_AFTER_ABORT_MS: '1000',
  SETTLE_ANSWER_MS: '1000',
};

let running: RunningStack;
let administrator: Messaging;
let tenant: Tenant;

beforeAll(async () => {
  running = await startPrivateStack({ layout: 'split', env: settings, serviceEnv: { gateway: { SHUTDOWN_GRACE_MS: '500' } } });
  administrator = await connectAdministrator(running);
});
beforeEach(async () => {
  tenant = await createTenant(administrator, { usd: '100.00' });
});
afterAll(async () => {
  await administrator?.close();
  await running?.stop();
});

function chat(directives: string, stream: boolean): Promise<Response> {
  return fetch(`${running.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content: `Hello [[sim ${directives}]]` }], stream }),
    signal: AbortSignal.timeout(40_000),
  });
}

/** Waits for `count` open holds, and returns their request ids. */
async function held(count: number): Promise<string[]> {
  for (;;) {
    const { holds } = await administrator.request(holdList, { accountId: tenant.accountId });
    if (holds.length >= count) return holds.map(({ requestId }) => requestId);
    await delay(5);
  }
}

/** Waits until the upstream has `count` open requests. */
async function generating(count: number): Promise<void> {
  for (;;) {
    const response = await fetch(`${running.upstreamUrl}/sim/stats`);
    if (((await response.json()) as { open: number }).open >= count) return;
    await delay(5);
  }
}

async function settlements(requestIds: string[]): Promise<BilledRequest['settlement'][]> {
  const requests = await Promise.all(requestIds.map((requestId) => administrator.request(requestShow, { requestId })));
  return requests.map(({ settlement }) => settlement);
}

/** Opens streams, and waits until each client has content. */
async function flowing(count: number, directives: string): Promise<{ requestIds: string[]; ended: Promise<string>[] }> {
  const responses = await Promise.all(Array.from({ length: count }, () => chat(directives, true)));
  const readers = responses.map(({ body }) => (body as ReadableStream<Uint8Array>).getReader());
  await Promise.all(readers.map((reader) => reader.read()));
  const rest = async (reader: (typeof readers)[number]): Promise<string> => {
    let text = '';
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += Buffer.from(part.value).toString();
    return text;
  };
  const ended = readers.map((reader) => rest(reader).catch(() => 'broken'));
  return { requestIds: responses.map((response) => response.headers.get('x-request-id') ?? ''), ended };
}

test('gateway killed: the proxy settles plain requests at 0 and streams for the received content', async () => {
  const plain = Array.from({ length: 4 }, () => chat('tokens=40 ttft=8000', false).catch(() => undefined));
  await held(4);
  const streams = await flowing(4, 'tokens=600 rate=60');
  const requestIds = await held(8);
  await running.kill('gateway');
  await untilNoHolds(administrator, tenant.accountId, 9_000);
  await Promise.all([...plain, ...streams.ended]);
  const all = await settlements(requestIds);
  expect(all).toMatchObject(all.map(() => ({ reason: 'client-disconnected', settledBy: 'inference-proxy' })));
  const costs = all.map((settlement) => BigInt(settlement?.costPicoUsd ?? -1));
  expect(costs.filter((cost) => cost === 0n)).toHaveLength(4);
  expect(costs.filter((cost) => cost > 0n)).toHaveLength(4);
  await running.ready('gateway');
});

test('gateway frozen for longer than a lease after the whole reply: the reaper ends the hold, the gateway settles late', async () => {
  const pending = chat('tokens=40 ttft=1000', false);
  const [requestId = ''] = await held(1);
  await generating(1); // a gateway that freezes between the hold and the upstream has no reply to send
  const gateway = running.pid('gateway') as number;
  process.kill(gateway, 'SIGSTOP');
  try {
    await untilNoHolds(administrator, tenant.accountId, 20_000);
    expect(await settlements([requestId])).toMatchObject([{ reason: 'lease-expired', settledBy: 'reaper', costPicoUsd: '0' }]);
  } finally {
    process.kill(gateway, 'SIGCONT');
  }
  const response = await pending;
  expect(response.status).toBe(200);
  const [settlement] = await settlements([requestId]);
  expect(settlement).toMatchObject({
    reason: 'completed',
    settledBy: 'gateway',
    usage: { outputTokens: 40, promptSource: 'reported', outputSource: 'reported' },
    reaped: { costPicoUsd: '0' },
  });
  const { balance_pico_usd: balance } = await readBalance(running.gatewayUrl, tenant.apiKey);
  expect(balance).toBe(String(100n * 10n ** 12n - BigInt(settlement?.costPicoUsd ?? 0)));
});

test('proxy killed: the gateway ends the streams with an error and settles its own count', async () => {
  const { requestIds, ended } = await flowing(4, 'tokens=600 rate=60');
  await running.kill('inference-proxy');
  for (const text of await Promise.all(ended)) expect(text).toContain('upstream_error');
  await untilNoHolds(administrator, tenant.accountId, 9_000);
  for (const settlement of await settlements(requestIds)) {
    expect(settlement).toMatchObject({
      reason: 'failed',
      settledBy: 'gateway',
      usage: { promptSource: 'estimated', outputSource: 'counted' },
    });
    expect(BigInt(settlement?.costPicoUsd ?? 0)).toBeGreaterThan(0n);
  }
  await running.ready('inference-proxy');
});

test('gateway and proxy killed: the reaper bills the last meter reading', async () => {
  const { requestIds, ended } = await flowing(3, 'tokens=600 rate=60');
  await delay(3_000); // two heartbeats of a lease of 12 s
  await Promise.all([running.kill('gateway'), running.kill('inference-proxy')]);
  await Promise.all(ended);
  await untilNoHolds(administrator, tenant.accountId, 20_000);
  for (const settlement of await settlements(requestIds)) {
    expect(settlement).toMatchObject({
      reason: 'lease-expired',
      settledBy: 'reaper',
      usage: { promptSource: 'estimated', outputSource: 'counted' },
    });
    expect(settlement?.usage.outputTokens).toBeGreaterThan(20);
  }
  await Promise.all([running.ready('gateway'), running.ready('inference-proxy')]);
});

test.each([false, true])(
  'billing away at the end: the client has its answer in bounded time, and it is settled later (streamed: %s)',
  async (stream) => {
    const pending = chat('tokens=20 ttft=1000', stream);
    const [requestId = ''] = await held(1);
    await running.hold('billing');
    // Billing stays down until the client has read everything, so that the reply cannot have waited for it.
    const response = await pending;
    const text = await response.text();
    expect({ status: response.status, isWhole: stream ? text.includes('[DONE]') : text.includes('"finish_reason":"stop"') }).toEqual({
      status: 200,
      isWhole: true,
    });
    await running.resume('billing');
    await untilNoHolds(administrator, tenant.accountId, 9_000);
    expect(await settlements([requestId])).toMatchObject([
      { reason: 'completed', usage: { outputTokens: 20, promptSource: 'reported', outputSource: 'reported' } },
    ]);
  },
);

test('gateway shut down while billing is down: the proxy settles when billing is back', async () => {
  const { requestIds, ended } = await flowing(2, 'tokens=30 rate=60');
  await running.hold('billing');
  await Promise.all(ended);
  await running.kill('gateway'); // with unsettled holds
  await running.resume('billing');
  await untilNoHolds(administrator, tenant.accountId, 11_000);
  expect(await settlements(requestIds)).toMatchObject(requestIds.map(() => ({ reason: 'completed', usage: { outputTokens: 30 } })));
  await running.ready('gateway');
});

const FORMATS = Object.keys(CLIENT_FORMATS) as FormatName[];

/** Sends a request in every format. Each resolves with the head of its reply. */
function inEveryFormat(directives: string, stream: boolean): Promise<{ format: FormatName; response: Response }>[] {
  return FORMATS.map(async (format) => {
    const { path, body } = CLIENT_FORMATS[format];
    const text = `Hello [[sim ${directives}]]`;
    const response = await fetch(running.gatewayUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body({ model: 'sim-fast', text, stream, outputTokensMax: 2_000, withTool: false })),
      signal: AbortSignal.timeout(30_000),
    });
    return { format, response };
  });
}

test('gateway at the end of its grace: running requests fail with an error of their format, and the received content is settled', async () => {
  const waiting = [false, true].flatMap((stream) => inEveryFormat('tokens=40 ttft=20000', stream));
  for (const one of waiting) one.catch(() => undefined);
  await held(waiting.length);
  const begun = await Promise.all(inEveryFormat('tokens=2000 rate=60', true));
  const ended = Promise.all(
    [...waiting, ...begun].map(async (asked) => {
      const { format, response } = await asked;
      const requestId = response.headers.get('x-request-id') ?? '';
      const text = await response.text(); // rejects for a broken connection
      const { ended, code } = heard(format, { requestId, status: response.status, text, isBroken: false });
      return { requestId, status: response.status, ended, isUnavailable: /^(model_unavailable|overloaded_error)$/.test(code ?? '') };
    }),
  );
  const [answers] = await Promise.all([ended, running.kill('gateway', 'SIGTERM')]);
  const requestIds = answers.map(({ requestId }) => requestId);
  const expected = [...waiting.map(() => 503), ...begun.map(() => 200)];
  expect(answers).toEqual(expected.map((status) => ({ requestId: expect.any(String), status, ended: 'failed', isUnavailable: true })));
  const bills = (await settlements(requestIds)).map((bill) => ({ reason: bill?.reason, isFree: bill?.costPicoUsd === '0' }));
  expect(bills).toEqual(expected.map((status) => ({ reason: 'failed', isFree: status === 503 })));

  const lines = readFileSync(join(running.logDir, 'gateway.log'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const logged = requestIds.map((id) => lines.filter(({ requestId }) => requestId === id));
  expect(logged).toMatchObject(expected.map((status) => [{ level: 'info', status, code: 'model_unavailable', outcome: 'failed' }]));
  expect(lines.filter(({ msg }) => /^shutdown grace/.test(msg))).toMatchObject([{ level: 'warn', running: expected.length }]);
  await running.ready('gateway');
});

test('a revoked key ends its running streams at the next heartbeat, and the received content is billed', async () => {
  const { requestIds, ended } = await flowing(2, 'tokens=2000 rate=60');
  await administrator.request(keyRevoke, { keyId: tenant.keyId });
  for (const text of await Promise.all(ended)) expect(text).toContain('invalid_api_key');
  await untilNoHolds(administrator, tenant.accountId, 5_000);
  for (const settlement of await settlements(requestIds)) {
    expect(settlement).toMatchObject({ reason: 'failed', usage: { promptSource: 'estimated', outputSource: 'counted' } });
    expect(settlement?.usage.outputTokens).toBeLessThan(600);
    expect(BigInt(settlement?.costPicoUsd ?? 0)).toBeGreaterThan(0n);
  }
});
