import { randomBytes } from 'node:crypto';
import { requestShow } from '#contracts/billing/requests.js';
import { TracedStack } from './traced-stack.js';

/** Ids in the log lines of every service while traces are not exported: those of a request, of its trace and of its key. */
let traced: TracedStack;
beforeAll(async () => {
  traced = await TracedStack.start({
    ...{ OTEL_SDK_DISABLED: 'true', LEASE_MS: '3000', REAPER_INTERVAL_MS: '100', REAPER_GRACE_MS: '0' },
    SETTLE_AFTER_ABORT_MS: '60000',
  });
});
afterAll(() => traced?.stop());

const OF_LINE = ({ service, msg, requestId, traceId, keyId }: Record<string, unknown>): unknown[] => [
  service,
  msg,
  requestId,
  traceId,
  keyId,
];

test.each([true, false])(
  'a request that fails (trace of the client: %s): the gateway, the inference-proxy and its settlement',
  async (withTrace) => {
    const { traceId, requestId } = await traced.ask({ withTrace, model: 'failing' });
    const lines = await traced.untilLogged(2, (line) => line.requestId === requestId);
    const { keyId } = traced.tenant;
    expect(lines.map(OF_LINE)).toEqual([
      ['gateway', 'request', requestId, traceId, keyId],
      ['inference-proxy', 'upstream call failed', requestId, traceId, keyId],
    ]);
    expect(await traced.administrator.request(requestShow, { requestId })).toMatchObject({ requestId, traceId });
  },
);

test('a request whose gateway and inference-proxy die: billing', async () => {
  const traceId = randomBytes(16).toString('hex');
  const ended = traced.ask({ traceId, stream: true, directives: 'hang=2' }).catch(() => undefined);
  await traced.untilReceived(traceId);
  await Promise.all([traced.facts.kill('gateway'), traced.facts.kill('inference-proxy')]);
  await ended;
  const lines = await traced.untilLogged(1, (line) => line.traceId === traceId);
  expect(lines.map(OF_LINE)).toEqual([
    ['billing', 'lease expired: hold reaped', expect.stringMatching(/^req_[0-9a-f]{32}$/), traceId, traced.tenant.keyId],
  ]);
  await Promise.all([traced.facts.ready('gateway'), traced.facts.ready('inference-proxy')]);
});

test.each([true, false])('a request to the panel, which has no key (trace of the client: %s)', async (withTrace) => {
  const client = randomBytes(16).toString('hex');
  const headers = withTrace ? { traceparent: `00-${client}-b7ad6b7169203331-01` } : undefined;
  const reply = await fetch(`${traced.facts.panelUrl}/panel/v1/me`, { headers });
  const requestId = reply.headers.get('x-request-id') ?? '';
  const lines = await traced.untilLogged(1, (line) => line.requestId === requestId);
  expect(lines.map(OF_LINE)).toEqual([['panel', 'request', requestId, withTrace ? client : requestId.slice('req_'.length), undefined]]);
});

test('every line with a request or a hold has a trace id, and a key id if the key was known; the catalog has no such line', async () => {
  const lines = traced.logLines().filter(({ requestId, holdId }) => requestId !== undefined || holdId !== undefined);
  expect([...new Set(lines.map(({ service }) => service))].sort()).toEqual(['billing', 'gateway', 'inference-proxy', 'panel']);
  const withoutKey = ({ service, status }: Record<string, unknown>): boolean => service === 'panel' || status === 401;
  expect(lines.filter((line) => !line.traceId || !(line.keyId || withoutKey(line)))).toEqual([]);
});

test('`tollgate trace` prints the hops of a request from these logs', async () => {
  const { requestId } = await traced.ask({ model: 'failover', stream: true });
  await traced.untilLogged(2, (line) => line.requestId === requestId);
  const [, , ...steps] = (await traced.tollgate('trace', requestId, '--logs', traced.facts.logDir)).trimEnd().split('\n');
  const hops = steps.map((line) =>
    line.replaceAll(/[├└]─ *\+[\d.]+ ms {2}/g, '').replaceAll(/\b[\d.]+ ms|[0-9a-f-]{36}| {2,}\S+=.*/g, '…'),
  );
  // The proxy logs the failed call while it begins the next: the two may change places.
  const warning = '│  warn: upstream call failed…';
  expect(hops).toContain(warning);
  expect(hops.filter((hop) => hop !== warning)).toEqual([
    'gateway          request received',
    'billing          hold … made',
    'inference-proxy  generate',
    '│  call of bad: refused after …',
    '│  call of good: answered after …',
    'gateway          first content',
    'billing          hold … settled in …',
    'gateway          request ended',
  ]);
});
