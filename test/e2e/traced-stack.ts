import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { catalogApply } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { type RunningStack, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant, untilOffered } from '#testing/tenant.js';
import { type CollectedSpan, TraceCollector } from '#testing/trace-collector.js';
import { type SimServer, startSimServer } from '../../apps/upstream-sim/src/sim-server.js';
import { CLIENT_FORMATS, type FormatName } from '../chaos/client-format.js';

/** In every prompt. */
export const PROMPT_WORD = 'zebraprompt7f3a';
/** In every reply. */
export const REPLY_WORD = 'walrusreply91cd';
/** Keys of the upstream and of the collector. */
export const UPSTREAM_KEY = 'otterkey55b0';
export const COLLECTOR_KEY = 'heronheader08d1';

/** Settings with which each service exports its metrics too. */
export const WITH_METRICS = { OTEL_METRICS_EXPORTER: 'otlp', OTEL_METRIC_EXPORT_INTERVAL: '200' };

export interface Asked {
  /** Default: the client has a trace of its own. */
  withTrace?: boolean;
  /** Id of the client's trace. */
  traceId?: string;
  format?: FormatName;
  model?: 'traced' | 'untraced' | 'failover' | 'failing';
  stream?: boolean;
  sampled?: boolean;
  directives?: string;
  outputTokensMax?: number;
  apiKey?: string;
  signal?: AbortSignal;
}

interface Ids {
  requestId: string;
  /** Id of the client's trace, or of the one that the gateway begins. */
  traceId: string;
}

/** A system that exports its traces to a collector of the test's own, with an upstream that answers and one that fails. */
export class TracedStack {
  private constructor(
    readonly collector: TraceCollector,
    readonly facts: RunningStack,
    readonly good: SimServer,
    private readonly bad: SimServer,
    readonly administrator: Messaging,
    readonly tenant: Tenant,
  ) {}

  static async start(settings: Record<string, string> = {}): Promise<TracedStack> {
    const collector = await TraceCollector.start();
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=${COLLECTOR_KEY}`,
      OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
      OTEL_BSP_SCHEDULE_DELAY: '20',
      OTEL_BSP_MAX_QUEUE_SIZE: '64',
      TRACES_SLOW_MS: '60000',
      ROUTE_COOLDOWN_MS: '1',
      RETRY_AFTER_MAX_MS: '0',
      SETTLE_AFTER_ABORT_MS: '200',
      ...settings,
    };
    const [good, bad] = await Promise.all([
      startSimServer({ host: '127.0.0.1', port: 0, record: true, apiKey: UPSTREAM_KEY }),
      startSimServer({ host: '127.0.0.1', port: 0, record: true, defaults: 'status=500' }),
    ]);
    const key = { UPSTREAM_KEY_TRACED: UPSTREAM_KEY, UPSTREAM_KEY_TRACED_HOSTS: `${good.url}, ${bad.url}` };
    const serviceEnv = { 'inference-proxy': { TRACED_UPSTREAMS: 'good, bad', ...key } };
    const facts = await startPrivateStack({ env, serviceEnv, services: ['gateway', 'inference-proxy', 'billing', 'catalog', 'panel'] });
    const administrator = await connectAdministrator(facts);
    const tenant = await createTenant(administrator);
    await administrator.request(catalogApply, { yaml: renderCatalog(good, bad) });
    await untilOffered(facts.gatewayUrl, tenant.apiKey, MODELS);
    return new TracedStack(collector, facts, good, bad, administrator, tenant);
  }

  async stop(): Promise<void> {
    await this.administrator.close();
    await this.facts.stop();
    await Promise.all([this.collector.close().catch(() => undefined), this.good.close(), this.bad.close()]);
  }

  /** Sends a request. Resolves with the head of the reply. */
  async open(asked: Asked = {}): Promise<Ids & { response: Response }> {
    const { format = 'chat', model = 'traced', stream = false, sampled = true, directives = '', outputTokensMax = 50 } = asked;
    const { withTrace = true, apiKey = this.tenant.apiKey } = asked;
    const { path, body } = CLIENT_FORMATS[format];
    const { traceId = randomBytes(16).toString('hex') } = asked;
    const text = `${PROMPT_WORD} ${traceId} [[sim say="${REPLY_WORD}" ${directives}]]`;
    const trace = { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-0${sampled ? 1 : 0}`, tracestate: 'vendor=1' };
    const response = await fetch(this.facts.gatewayUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...(withTrace && trace) },
      body: JSON.stringify(body({ model, text, stream, outputTokensMax, withTool: false })),
      signal: asked.signal,
    });
    const requestId = response.headers.get('x-request-id') ?? '';
    return { traceId: withTrace ? traceId : requestId.slice('req_'.length), requestId, response };
  }

  async ask(asked: Asked = {}): Promise<Ids & { status: number; text: string }> {
    const { response, ...ids } = await this.open(asked);
    return { ...ids, status: response.status, text: await response.text() };
  }

  /** Returns the spans of a trace once there are as many. */
  async collected(traceId: string, count: number): Promise<CollectedSpan[]> {
    await this.collector.until(() => this.collector.of(traceId).length >= count);
    return this.collector.of(traceId);
  }

  /** Resolves when all spans that have ended are collected: each service exports them in the order of their ends. */
  async allCollected(): Promise<void> {
    await this.collected((await this.ask()).traceId, 8);
  }

  /** Returns `traceparent` of each call that the upstreams got for a request, those of the failing one first. */
  async received(traceId: string): Promise<(string | undefined)[]> {
    return (await Promise.all([this.bad, this.good].map((upstream) => readCalls(upstream, traceId)))).flat();
  }

  /** Resolves when the good upstream has the request. */
  async untilReceived(traceId: string): Promise<void> {
    while ((await readCalls(this.good, traceId)).length === 0) await delay(20);
  }

  /** Returns all log lines. */
  logLines(): Record<string, unknown>[] {
    const texts = this.logFiles().map((file) => readFileSync(file, 'utf8'));
    return texts
      .flatMap((text) => text.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}')))
      .map((line) => JSON.parse(line));
  }

  /** Returns the log lines that fulfil the condition, by service, once there are as many. */
  async untilLogged(count: number, isWanted: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>[]> {
    for (;;) {
      const lines = this.logLines().filter(isWanted);
      if (lines.length >= count) return lines;
      await delay(50);
    }
  }

  /** Runs a command of the operator. Returns its output. */
  async tollgate(...words: string[]): Promise<string> {
    const { natsUrl, natsPasswords } = this.facts;
    const env = { ...process.env, NATS_URL: natsUrl, NATS_CLI_PASSWORD: natsPasswords.cli, NODE_OPTIONS: '' };
    return (await promisify(execFile)(process.execPath, ['dist/apps/cli/bundle/tollgate.cjs', ...words], { env })).stdout;
  }

  logFiles(): string[] {
    return filesBelow(this.facts.logDir).sort();
  }
}

/** Returns `traceparent` of each call for a request, whose prompt has the trace id. */
async function readCalls({ url }: SimServer, traceId: string): Promise<(string | undefined)[]> {
  const response = await fetch(`${url}/sim/requests?limit=1000`);
  const requests = (await response.json()) as { headers: Record<string, string>; body: unknown }[];
  return requests.filter(({ body }) => JSON.stringify(body).includes(traceId)).map(({ headers }) => headers.traceparent);
}

const MODELS: Required<Asked>['model'][] = ['traced', 'untraced', 'failover', 'failing'];

function renderCatalog(good: SimServer, bad: SimServer): string {
  const upstream = (id: string, { url }: SimServer) => ({
    ...{ id, kind: 'openai-chat', baseUrl: `${url}/v1`, allowPrivateNetwork: true, apiKeyEnv: 'UPSTREAM_KEY_TRACED' },
  });
  const model = (id: string, ...upstreams: string[]) => ({
    id,
    ownedBy: 'tollgate',
    contextTokens: 100_000,
    maxOutputTokens: 10_000,
    price: { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.1', outputUsdPerMTok: '3' },
    routes: upstreams.map((one, priority) => ({ upstream: one, model: 'sim-fast', priority })),
  });
  return stringify({
    upstreams: [upstream('good', good), upstream('secretive', good), upstream('bad', bad)],
    models: [model('traced', 'good'), model('untraced', 'secretive'), model('failover', 'bad', 'good'), model('failing', 'bad')],
  });
}

export function named(spans: readonly CollectedSpan[], name: string): CollectedSpan | undefined {
  return spans.find((span) => span.name === name);
}

/** Returns the tree of a request as `renderTree` writes it. */
export function treeWith(path: string, attempts = ['tollgate-inference-proxy client chat sim-fast'], failed = ''): string[] {
  return [
    `tollgate-gateway server POST ${path}${failed}`,
    '  tollgate-gateway client reserve',
    '    tollgate-billing server apply reserve',
    `  tollgate-gateway client inference${failed}`,
    `    tollgate-inference-proxy server generate${failed}`,
    ...attempts.map((attempt) => `      ${attempt}`),
    '  tollgate-gateway client settle',
    '    tollgate-billing server apply settle',
  ];
}

export function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
