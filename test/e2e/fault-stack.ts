import { type BilledRequest, requestShow } from '#contracts/billing/requests.js';
import type { Upstream } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';
import { type CatalogEntries, offerModels, withdrawModels } from '#testing/offered-models.js';
import { catalogStack, type RunningStack, type StackInfo, startPrivateStack } from '#testing/stack.js';
import { connectAdministrator, createTenant, type Tenant } from '#testing/tenant.js';
import { CLIENT_FORMATS, type Fields, type FormatName } from '../chaos/client-format.js';

/** Catalog fields of an upstream. It serves one model with the same id. */
export type UpstreamLines = Pick<Upstream, 'id' | 'kind' | 'baseUrl'> & { [field: string]: unknown };

export interface Answer {
  requestId: string;
  status: number;
  /** Text of the reply. */
  text: string;
  /** The connection broke before the end of the reply. */
  isBroken: boolean;
}

export type Bill = Pick<NonNullable<BilledRequest['settlement']>, 'reason' | 'usage' | 'costPicoUsd'>;

/** Upstreams fail on purpose here: circuits close again at once. */
const NO_COOLDOWN = { ROUTE_COOLDOWN_MS: '1', RETRY_AFTER_MAX_MS: '0' };

export type SharedFaultStack = FaultStack<StackInfo>;

/** A whole system with upstreams of the test's own: a private one, or the one whose catalog tests share. */
export class FaultStack<Facts extends StackInfo = RunningStack> {
  private readonly offered: CatalogEntries[] = [];

  private constructor(
    readonly facts: Facts,
    readonly administrator: Messaging,
    readonly tenant: Tenant,
  ) {}

  static async start(options: Parameters<typeof startPrivateStack>[0] = {}): Promise<FaultStack> {
    const facts = await startPrivateStack({ services: ['gateway', 'inference-proxy', 'billing', 'catalog'], env: NO_COOLDOWN, ...options });
    try {
      return await FaultStack.in(facts);
    } catch (error) {
      await facts.stop();
      throw error;
    }
  }

  /** The shared system. Names of upstreams must be unique among tests. */
  static share(): Promise<SharedFaultStack> {
    return FaultStack.in(catalogStack());
  }

  private static async in<Facts extends StackInfo>(facts: Facts): Promise<FaultStack<Facts>> {
    const administrator = await connectAdministrator(facts);
    return new FaultStack(facts, administrator, await createTenant(administrator, { usd: '100000.00' }));
  }

  /** The same system with another tenant. */
  as(tenant: Tenant): FaultStack<Facts> {
    return new FaultStack(this.facts, this.administrator, tenant);
  }

  /** Adds upstreams. */
  async offer(upstreams: readonly UpstreamLines[]): Promise<void> {
    const entries = { upstreams, models: upstreams.map(({ id }) => toModel(id)) };
    this.offered.push(entries);
    await offerModels(this.administrator, this.facts, this.tenant.apiKey, entries);
  }

  open(
    format: FormatName,
    model: string,
    options: { text?: string; stream?: boolean; outputTokensMax?: number; signal?: AbortSignal } = {},
  ): Promise<Response> {
    const { text = 'Hello', stream = true, outputTokensMax = 100, signal = AbortSignal.timeout(50_000) } = options;
    const { path, body } = CLIENT_FORMATS[format];
    return fetch(this.facts.gatewayUrl + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.tenant.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body({ model, text, stream, outputTokensMax, withTool: true })),
      signal,
    });
  }

  async ask(...asked: Parameters<SharedFaultStack['open']>): Promise<Answer> {
    const response = await this.open(...asked);
    const decoder = new TextDecoder();
    let text = '';
    let isBroken = false;
    try {
      for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true });
    } catch {
      isBroken = true;
    }
    return { requestId: response.headers.get('x-request-id') ?? '', status: response.status, text, isBroken };
  }

  /** Reads the bill of a request. A reply is settled before the client has it. */
  async readBill(requestId: string): Promise<Bill & { upstream: string | null }> {
    const { settlement, upstream } = await this.administrator.request(requestShow, { requestId });
    if (settlement === null) throw new Error(`${requestId} is not settled`);
    const { reason, usage, costPicoUsd } = settlement;
    return { reason, usage, costPicoUsd, upstream };
  }

  /** Stops a private system, and leaves the shared one as it was. */
  async stop(): Promise<void> {
    const { facts, offered, administrator } = this;
    const isPrivate = 'stop' in facts;
    if (!isPrivate) for (const entries of offered) await withdrawModels(administrator, entries);
    await administrator.close();
    if (isPrivate) await (facts as unknown as RunningStack).stop();
  }
}

function toModel(id: string) {
  return {
    id,
    ownedBy: 'tollgate',
    contextTokens: 2_000_000_000,
    maxOutputTokens: 100_000_000,
    defaultOutputTokens: 4_096,
    price: { inputUsdPerMTok: '1', cachedInputUsdPerMTok: '0.1', outputUsdPerMTok: '3' },
    routes: [{ upstream: id, model: 'any' }],
  };
}

/** Text and end of a stream as its client received it. A plain error counts as a stream that failed at once. */
export function heard(
  format: FormatName,
  { status, text, isBroken }: Answer,
): { text: string; ended: 'complete' | 'failed' | 'open'; code?: string } {
  if (status !== 200) return { text: '', ended: 'failed', code: errorCode(JSON.parse(text)) };
  const collected = { text: '', ended: 'open' as 'complete' | 'failed' | 'open', code: undefined as string | undefined };
  for (const line of text.split('\n')) {
    if (!line.startsWith('data: ')) continue;
    const data = line.slice('data: '.length);
    if (data === '[DONE]') {
      collected.ended = 'complete';
      continue;
    }
    const event: Fields = JSON.parse(data);
    const seen = CLIENT_FORMATS[format].readEvent(event);
    collected.text += seen.text ?? '';
    if (seen.ended !== undefined) collected.ended = seen.ended;
    if (seen.ended === 'failed') collected.code = errorCode(event);
  }
  return {
    text: collected.text,
    ended: isBroken ? 'open' : collected.ended,
    ...(collected.code === undefined ? {} : { code: collected.code }),
  };
}

/** Error code of any format; Messages has only types. */
function errorCode(event: Fields): string {
  const error = event.error ?? event.response?.error ?? event;
  return error.code ?? error.type;
}
