import type { Counter } from 'prom-client';
import { type EndedRequest, REFUSAL_LENGTH_MAX, requestsEnded } from '#contracts/gateway.js';
import type { Messaging } from '#messaging/messaging.js';
import type { InferenceRecord } from '../pipeline/inference-call.js';
import type { ProtocolName } from '../protocols/protocol-adapter.js';
import type { HttpExchange } from './http-exchange.js';
import { ROUTES } from './routes.js';

const INTERVAL_MS = 250;
/** Requests that wait for NATS; about 10 MB. Further ones are dropped. */
const WAITING_MAX = 10_000;
/** Requests of one message. Also with the longest sentences of refusals, its size stays below half of the NATS server's default `max_payload`. */
const SENT_MAX = 200;
/** Characters of users, tags, clients and sessions in one message, and in all that wait. Refusals beyond are sent without them. */
const NAMES_MAX = 50_000;
const WAITING_NAMES_MAX = 1_000_000;

/** Endpoints that run a model. The others have no activity. */
const PROTOCOLS: ReadonlyMap<string, ProtocolName> = new Map(
  [ROUTES.chatCompletions, ROUTES.embeddings, ROUTES.responses, ROUTES.messages].map(({ path, format }) => [path, format] as const),
);

interface Ended {
  exchange: HttpExchange;
  status: number;
  endedAt: number;
  /** Characters of the names of a refused request. */
  names: number;
}

/** Publishes the course of each request to a model. A request only adds one object; a timer renders and sends them. */
export class ActivityEvents {
  private waiting: Ended[] = [];
  private waitingNames = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly messaging: Pick<Messaging, 'publish' | 'connected'>,
    private readonly dropped: Counter,
  ) {}

  /** Takes a request that has ended. `endedAt` is of `performance.now()`. */
  push(exchange: HttpExchange, status: number, endedAt: number): void {
    if (!PROTOCOLS.has(exchange.route)) return;
    if (this.waiting.length >= WAITING_MAX) {
      this.dropped.inc();
      return;
    }
    const names = this.countNames(exchange.inference);
    this.waitingNames += names;
    this.waiting.push({ exchange, status, endedAt, names });
    this.timer ??= setTimeout(this.publish, INTERVAL_MS);
  }

  /** Nest lifecycle hook: sends the rest, after the last request has ended. */
  onApplicationShutdown(): void {
    clearTimeout(this.timer);
    while (this.messaging.connected && this.waiting.length > 0) this.publishSome();
  }

  /** Publishes one message in a turn of the event loop, so that a long queue delays no request. */
  private readonly publish = (): void => {
    const { connected } = this.messaging;
    if (connected) this.publishSome();
    this.timer = this.waiting.length === 0 ? undefined : setTimeout(this.publish, connected ? 0 : INTERVAL_MS);
  };

  private publishSome(): void {
    let names = 0;
    const tooMuch = this.waiting.findIndex((ended, at) => {
      names += ended.names;
      return at === SENT_MAX || (at > 0 && names > NAMES_MAX);
    });
    const sent = tooMuch === -1 ? this.waiting : this.waiting.slice(0, tooMuch);
    this.waiting = this.waiting.slice(sent.length);
    for (const ended of sent) this.waitingNames -= ended.names;
    this.messaging.publish(requestsEnded, { requests: sent.map(renderEnded) });
  }

  /** Only refused requests have names here: a completed one costs nothing. */
  private countNames(inference: InferenceRecord | undefined): number {
    const { attribution } = inference ?? {};
    if (inference === undefined || attribution === undefined) return 0;
    const names = Object.entries(attribution).reduce((total, [dimension, value]) => total + dimension.length + value.length, 0);
    if (this.waitingNames + names <= WAITING_NAMES_MAX) return names;
    inference.attribution = undefined;
    return 0;
  }
}

function renderEnded({ exchange, status, endedAt }: Ended): EndedRequest {
  const { id, requestId, route, refusedCaller, caller = refusedCaller, inference, error, startedAt, firstContentAt } = exchange;
  const { heldAt, lastContentAt, attempts: _, ...quote } = inference?.activity ?? {};
  // A failed request has no sentence: it may end with the upstream's own text, which may repeat the prompt.
  const isRefused = inference?.outcome === undefined;
  const after = (at: number | undefined): number | undefined => (at === undefined ? undefined : Math.round(at - startedAt));
  return {
    requestId,
    receivedAt: new Date(parseMilliseconds(id)).toISOString(),
    accountId: caller?.accountId,
    projectId: caller?.projectId,
    keyId: caller?.keyId,
    protocol: PROTOCOLS.get(route) ?? 'chat',
    model: inference?.model,
    stream: inference?.stream ?? false,
    status,
    code: error?.code,
    ...(isRefused && {
      message: error?.recordedMessage.slice(0, REFUSAL_LENGTH_MAX),
      refusal: error?.refusal,
      attribution: inference?.attribution,
    }),
    outcome: inference?.outcome,
    heldMs: after(heldAt),
    firstContentMs: after(firstContentAt),
    lastContentMs: after(lastContentAt),
    endedMs: Math.round(endedAt - startedAt),
    holdId: inference?.holdId,
    ...quote,
    attempts: listCalls(exchange),
  };
}

/** Returns the calls of upstreams, in milliseconds since the request came. Undefined when `ACTIVITY_EVENTS` is off. */
export function listCalls({ inference, startedAt }: HttpExchange): EndedRequest['attempts'] {
  const { heldAt = startedAt, attempts } = inference?.activity ?? {};
  // The inference-proxy takes the request right after the hold.
  const heldMs = Math.round(heldAt - startedAt);
  const shifted = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : ms + heldMs);
  return attempts?.map(({ startMs, firstByteMs, endMs, ...call }) => ({
    ...call,
    startMs: startMs + heldMs,
    firstByteMs: shifted(firstByteMs),
    endMs: shifted(endMs),
  }));
}

/** Returns the time in a UUIDv7 without hyphens. */
function parseMilliseconds(id: string): number {
  return Number.parseInt(id.slice(0, 12), 16);
}
