import { randomBytes } from 'node:crypto';
import type { BilledRequest } from '#contracts/billing/requests.js';
import { requestShow } from '#contracts/billing/requests.js';
import type { Messaging } from '#messaging/messaging.js';
import { stack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilNoHolds } from '#testing/tenant.js';
import { runCli } from '../../apps/cli/src/run-cli.js';

/** Every id that a reply, a log or a trace has finds its request. */

const CONVERSATION = { model: 'sim-fast', messages: [{ role: 'user', content: 'Hello' }] };
const FORMATS = [
  ['chatcmpl-', 'chat/completions', CONVERSATION],
  ['msg_', 'messages', { ...CONVERSATION, max_tokens: 20 }],
  ['resp_', 'responses', { model: 'sim-fast', input: 'Hello' }],
] as const;

let administrator: Messaging;
let tenant: Tenant;
beforeAll(async () => {
  administrator = await connectAdministrator(stack());
  tenant = await createTenant(administrator);
});
afterAll(() => administrator?.close());

async function show(...args: string[]): Promise<{ code: number; out: string }> {
  let out = '';
  const write = (text: string): void => {
    out += text;
  };
  const code = await runCli(['request', 'show', ...args], { writeOut: write, writeErr: write }, () => connectAdministrator(stack()));
  return { code, out };
}

test.each(FORMATS)('a request is shown by the id %s… of its reply, its hold and its trace', async (prefix, path, body) => {
  const traceId = randomBytes(16).toString('hex');
  const response = await fetch(`${stack().gatewayUrl}/v1/${path}`, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
      traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01`,
    },
    body: JSON.stringify(body),
  });
  const { id } = (await response.json()) as { id: string };
  const requestId = response.headers.get('x-request-id') ?? '';
  await untilNoHolds(administrator, tenant.accountId);
  const { holdId } = await administrator.request(requestShow, { requestId });
  expect(id.startsWith(prefix)).toBe(true);
  const found: unknown[] = [];
  for (const one of [requestId, id, id.slice(prefix.length), holdId, holdId.replaceAll('-', ''), traceId]) {
    const { code, out } = await show(one, '--json');
    found.push(code === 0 ? (JSON.parse(out) as BilledRequest).requestId : out);
  }
  expect(found).toEqual(Array.from({ length: 6 }, () => requestId));
});

test('an unknown id and an id of no known form get one line each', async () => {
  expect([await show(randomBytes(16).toString('hex')), await show('call_1')]).toEqual([
    { code: 1, out: expect.stringMatching(/^[^\n]*No request with this id has held money\.[^\n]*\n$/) },
    {
      code: 1,
      out: expect.stringMatching(
        /^[^\n]*Give the id of a request \(req_…\), of its reply \(chatcmpl-…, resp_… or msg_…\), of its hold[^\n]*\n$/,
      ),
    },
  ]);
});
