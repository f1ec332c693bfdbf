import { randomUUID } from 'node:crypto';
import { accountUpdate } from '#contracts/billing/accounts.js';
import { topupCreate } from '#contracts/billing/money.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, readBalance } from '#testing/tenant.js';

const { gatewayUrl } = stack();
const LINE = 100_000_000n;
const MESSAGES = [{ role: 'user', content: 'Hello [[sim tokens=3]]' }];
const PARALLEL = 8;

const administrator = await connectAdministrator(stack());
afterAll(() => administrator.close());

async function ask(path: string, apiKey: string, body: object): Promise<[status: number, type?: string]> {
  const response = await fetch(`${gatewayUrl}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sim-fast', ...body }),
  });
  const { error } = (await response.json()) as { error?: { type: string } };
  return error ? [response.status, error.type] : [response.status];
}

const FORMATS = [
  (apiKey: string) => ask('/v1/chat/completions', apiKey, { messages: MESSAGES, max_tokens: 9 }),
  (apiKey: string) => ask('/v1/responses', apiKey, { input: MESSAGES, max_output_tokens: 9 }),
  (apiKey: string) => ask('/v1/messages', apiKey, { messages: MESSAGES, max_tokens: 9 }),
];

test('a postpaid account runs below zero as far as its credit line, and not further', async () => {
  const { accountId, apiKey } = await createTenant(administrator, { usd: '0' });
  const askAll = () => Promise.all(FORMATS.map((format) => format(apiKey)));
  const refused = [
    [402, 'insufficient_balance_error'],
    [402, 'insufficient_balance_error'],
    [402, 'billing_error'],
  ];
  expect(await askAll()).toEqual(refused);
  await administrator.request(accountUpdate, { accountId, creditLineUsd: '0.0001' });
  expect(await askAll()).toEqual([[200], [200], [200]]);
  // Requests of one round hold parts of the line at the same time, so how many rounds use it up depends on their timing.
  for (let isUsedUp = false; !isUsedUp; ) {
    const answers = await Promise.all(Array.from({ length: PARALLEL }, askAll));
    isUsedUp = answers.flat().every(([status]) => status !== 200);
  }
  expect(await askAll()).toEqual(refused);

  const balance = await readBalance(gatewayUrl, apiKey);
  const owed = -BigInt(balance.topup_balance_pico_usd);
  expect(owed).toBeGreaterThan(LINE / 2n);
  expect(balance).toMatchObject({
    balance_pico_usd: String(LINE - owed),
    reserved_pico_usd: '0',
    available_pico_usd: String(LINE - owed),
    plan_balance_pico_usd: '0',
    credit_line_pico_usd: String(LINE),
  });
  await administrator.request(topupCreate, { accountId, usd: '1.00', paymentId: randomUUID() });
  expect(await askAll()).toEqual([[200], [200], [200]]);
  await administrator.request(accountUpdate, { accountId, creditLineUsd: '0' });
  expect(await readBalance(gatewayUrl, apiKey)).not.toHaveProperty('credit_line_pico_usd');
});
