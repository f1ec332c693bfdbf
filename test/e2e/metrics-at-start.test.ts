import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { STRIPE_KEY, STRIPE_SECRET } from '#testing/fake-stripe.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';
import { TestAuthority } from '#testing/test-certificates.js';

/** The metrics of a new system. Alerts and `rate()` miss the first event of a counter that does not exist before it. */

const SERVICES = ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel', 'payments'] as const;
const ROUTE_LABELS = ['upstream', 'model', 'upstream_model'];

const served = new TestAuthority().issue('served', { hosts: ['localhost'] });

let folder: string;
let running: RunningStack;
let atStart: Set<string>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'served-'));
  writeFileSync(join(folder, 'https.pem'), served.cert);
  writeFileSync(join(folder, 'catalog.yaml'), readFileSync('config/catalog.yaml', 'utf8').replace('# cost:', 'cost:'));
  running = await startPrivateStack({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, // nothing listens there: only the counter of traces is wanted
    serviceEnv: {
      gateway: { SERVED_CERTIFICATE_FILES: `${join(folder, 'https.pem')},${join(folder, 'missing.pem')}` },
      // Nothing is paid here.
      payments: { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: STRIPE_SECRET, STRIPE_API_URL: 'http://127.0.0.1:9' },
      catalog: { CATALOG_FILE: join(folder, 'catalog.yaml') }, // a route has a cost price, which has a counter
    },
    services: [...SERVICES, 'upstream-sim'],
  });
  atStart = await counterSeries();
});
afterAll(async () => {
  await running?.stop();
  rmSync(folder, { recursive: true });
});

test('every documented counter exists at the start, with its labels, and no other', () => {
  const labelsByName = Object.fromEntries([...atStart].map((series) => [parseName(series), labelsIn(series)]));
  expect(labelsByName).toEqual(documentedCounters());
});

test('requests of every kind add no series to a counter', async () => {
  const administrator = await connectAdministrator(running);
  const tenant = await createTenant(administrator);
  const poor = await createTenant(administrator, { usd: '0.0001' });
  await sendGatewayRequests(tenant, poor);
  await sendPanelRequests();
  await administrator.close();
  expect([...(await counterSeries())].filter((series) => !atStart.has(series))).toEqual([]);
});

test('the gateway has the expiry of each certificate that stands in front of it, and nothing for a missing one', async () => {
  const text = await fetchMetrics('gateway');
  const series = Array.from(text.matchAll(/^tollgate_certificate_expiry_timestamp_seconds\{file="(.*)"\} (\d+)$/gm), ([, ...one]) => one);
  const expiry = Date.parse(new X509Certificate(served.cert).validTo) / 1_000;
  expect(series).toEqual([[join(folder, 'https.pem'), String(expiry)]]);
});

async function sendGatewayRequests(tenant: Tenant, poor: Tenant): Promise<void> {
  const send = async (path: string, { key = tenant.apiKey, ...init }: RequestInit & { key?: string } = {}): Promise<number> => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers };
    const response = await fetch(running.gatewayUrl + path, { ...init, headers });
    await response.text();
    return response.status;
  };
  const chat = (content: string, over: object = {}, key = tenant.apiKey): Promise<number> => {
    const body = JSON.stringify({ model: 'sim-fast', messages: [{ role: 'user', content }], ...over });
    return send('/v1/chat/completions', { method: 'POST', body, key });
  };
  expect([
    await chat('Hello'),
    await chat('Hello', { stream: true }),
    await chat('Hello', { model: 'none' }),
    await chat('Hello', { temperature: 9 }),
    await chat('Hello', { max_tokens: 4_000 }, poor.apiKey),
    await chat('Hello', {}, 'wrong'),
    await chat('[[sim status=500]]'),
    await send('/v1/chat/completions'),
    await send('/v1/chat/completions', { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } }),
    await send('/v1/models'),
    await send('/v1/requests/none'),
    await send('/livez'),
  ]).toEqual([200, 200, 404, 400, 402, 401, 502, 405, 415, 200, 404, 200]);
}

async function sendPanelRequests(): Promise<void> {
  const send = async (path: string, init: RequestInit = {}): Promise<number> => {
    const response = await fetch(running.panelUrl + path, { redirect: 'manual', ...init });
    await response.text();
    return response.status;
  };
  expect([
    await send('/'),
    await send('/panel/'),
    await send('/panel/', { method: 'HEAD' }),
    await send('/panel/v1/me'),
    await send('/panel/v1/nothing'),
    await send('/panel/v1/session', { method: 'PUT' }),
  ]).toEqual([302, 200, 200, 401, 404, 404]);
}

/** Returns the series of Tollgate's counters in all services, without their values. */
async function counterSeries(): Promise<Set<string>> {
  const all = (await Promise.all(SERVICES.map(fetchMetrics))).join('\n');
  const names = new Set(Array.from(all.matchAll(/^# TYPE (tollgate_\w+) counter$/gm), ([, name]) => name));
  const series = Array.from(all.matchAll(/^(tollgate_\w+(?:\{.*\})?) \S+$/gm), ([, one = '']) => one);
  return new Set(series.filter((one) => names.has(parseName(one))));
}

async function fetchMetrics(service: (typeof SERVICES)[number]): Promise<string> {
  return (await fetch(`${running.opsUrls[service]}/metrics`)).text();
}

function parseName(series: string): string {
  return series.replace(/\{.*/, '');
}

function labelsIn(series: string): string[] {
  return Array.from(series.matchAll(/(\w+)="/g), ([, label = '']) => label).sort();
}

/** Returns the labels of each counter in docs/metrics.md. */
/** Without those of policies, whose names a gateway learns from the projects that use them. */
function documentedCounters(): Record<string, string[]> {
  const rows = readFileSync('docs/metrics.md', 'utf8').matchAll(/^\| `(\w+)` \| counter \| (.*?) \|/gm);
  const counters = Array.from(rows, ([, name = '', labels = '']): [string, string[]] => {
    const own = Array.from(labels.matchAll(/`(\w+)`/g), ([, label = '']) => label);
    return [name, [...(labels.startsWith('those of a route') ? ROUTE_LABELS : []), ...own].sort()];
  });
  return Object.fromEntries(counters.filter(([, labels]) => !labels.includes('policy')));
}
