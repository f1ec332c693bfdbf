import { setTimeout as delay } from 'node:timers/promises';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';
import { runCli } from '../../apps/cli/src/run-cli.js';

/** The operator's commands on money, and what they change for a request through the gateway. */

const { gatewayUrl } = stack();

async function tollgate<Reply>(...args: string[]): Promise<Reply> {
  let out = '';
  const write = (text: string): void => {
    out += text;
  };
  const code = await runCli([...args, '--json'], { writeOut: write, writeErr: write }, () => connectAdministrator(stack()));
  if (code !== 0) throw new Error(out);
  return JSON.parse(out) as Reply;
}

async function newTenant(usd: string): Promise<Tenant> {
  const administrator = await connectAdministrator(stack());
  try {
    return await createTenant(administrator, { usd });
  } finally {
    await administrator.close();
  }
}

async function complete({ apiKey }: Tenant): Promise<{ status: number; requestId: string }> {
  const response = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] }),
  });
  await response.text();
  return { status: response.status, requestId: response.headers.get('x-request-id') ?? '' };
}

async function untilGranted(tenant: Tenant, planBalance: string): Promise<void> {
  const deadline = performance.now() + 30_000;
  while ((await readBalance(tenant)).plan_balance_pico_usd !== planBalance) {
    if (performance.now() > deadline) throw new Error('the plan was not granted');
    await delay(100);
  }
}

async function readBalance({ apiKey }: Tenant): Promise<Record<string, string | null>> {
  const response = await fetch(`${gatewayUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
  return (await response.json()) as Record<string, string | null>;
}

test('a subscribed account gets its plan within seconds, and pays requests with it', async () => {
  const tenant = await newTenant('0.000000000001');
  const { accountId } = tenant;
  expect((await complete(tenant)).status).toBe(402);
  const subscribed = await tollgate('plan', 'subscribe', '--account', accountId, '--usd', '1', '--period', 'month');
  expect(subscribed).toMatchObject({ accountId, amountPicoUsd: '1000000000000', period: 'month', timeZone: 'UTC' });
  await untilGranted(tenant, '1000000000000');
  expect((await complete(tenant)).status).toBe(200);
  const shown = await tollgate<{ expiresAt: string }>('plan', 'show', '--account', accountId);
  expect(shown).toMatchObject({ subscription: { nextGrantAt: shown.expiresAt } });
  await tollgate('plan', 'cancel', '--account', accountId);
  expect(await tollgate('plan', 'show', '--account', accountId)).toEqual({ ...shown, subscription: null });
});
