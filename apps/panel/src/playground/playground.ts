import type { Response as ExpressResponse } from 'express';
import { isPanelErrorCode, PanelError } from '../errors/panel-error.js';
import { EVENT_STREAM_HEADERS } from '../http/event-stream.js';
import { Places } from '../http/places.js';
import { type PanelRequest, requireCaller } from '../requests/panel-request.js';
import type { PlaygroundRequest } from '../shapes/playground.js';
import { type PlaygroundKey, type PlaygroundKeys, RUN_MS_MAX } from './playground-keys.js';
import { relayEvents } from './relay-events.js';

/** Header with the gateway's id of the request, by which the panel explains it. */
const GATEWAY_REQUEST_ID = 'x-gateway-request-id';
/** Requests of one caller that run at once: one in a tab, and some room for what was just stopped. */
const RUNNING_MAX = 3;

const CLIENT_LEFT = new Error('The client has left.');

/** Requests to models that people send from the panel. Neither prompts nor replies are kept. */
export class Playground {
  private readonly running = new Places(RUNNING_MAX);

  constructor(
    private readonly keys: PlaygroundKeys,
    /** Address at which the panel reaches the gateway, without `/v1`. */
    private readonly gatewayUrl: string,
  ) {}

  /**
   * Relays the gateway's reply to a request. Ends with the client, the session or after `RUN_MS_MAX`; the gateway then bills what was
   * received. `mayReadMoney`: a refusal may name the balance.
   * @throws {PanelError} before the reply has begun: the refusal of the gateway, `rate_limit_exceeded` or `unavailable`
   */
  async run(request: PanelRequest, response: ExpressResponse, body: PlaygroundRequest, mayReadMoney: boolean): Promise<void> {
    // Its event `close` has passed.
    if (response.destroyed) return;
    refuseIncomplete(body);
    const { requestId, traceId, logger } = request;
    const leave = this.enter(requireCaller(request).actor);
    const end = new AbortController();
    response.once('close', () => end.abort(CLIENT_LEFT));
    const tooLong = new PanelError('upstream_timeout', `The playground stops a reply after ${RUN_MS_MAX / 60_000} minutes.`);
    const timer = setTimeout(() => end.abort(tooLong), RUN_MS_MAX);
    const used: PlaygroundKey[] = [];
    try {
      const { reply, signal } = await this.ask(request, body, end.signal, used);
      response.setHeader(GATEWAY_REQUEST_ID, reply.headers.get('x-request-id') ?? '');
      if (!reply.ok || !reply.body) throw visibleRefusal(await readRefusal(reply), mayReadMoney);
      response.writeHead(200, EVENT_STREAM_HEADERS);
      await relayEvents(reply.body, response, signal).catch((error) => {
        const reason = signal.aborted ? signal.reason : error;
        if (!(reason instanceof PanelError || reason === CLIENT_LEFT))
          logger.warn({ requestId, traceId, err: reason }, 'reply of the gateway broke');
        response.write(failureEvent(reason));
      });
      response.end();
    } catch (error) {
      if (end.signal.reason !== CLIENT_LEFT) throw error;
    } finally {
      clearTimeout(timer);
      for (const key of used) this.keys.giveBack(key);
      leave();
    }
  }

  /** Counts a request of a caller. Returns the function that ends it. @throws {PanelError} `rate_limit_exceeded` */
  private enter(actor: string): () => void {
    const leave = this.running.enter(actor);
    if (leave) return leave;
    throw new PanelError('rate_limit_exceeded', `${RUNNING_MAX} of your requests run in the playground. Stop one, or wait for its end.`);
  }

  /** Sends the request with the caller's key, which is added to `used`. A key that was revoked on the page Keys is replaced, once. */
  private async ask(
    request: PanelRequest,
    { projectId, request: body }: PlaygroundRequest,
    end: AbortSignal,
    used: PlaygroundKey[],
  ): Promise<{ reply: Response; signal: AbortSignal }> {
    const { requestId } = request;
    for (let attempt = 1; ; attempt += 1) {
      const held = this.keys.take(request, projectId);
      used.push(held);
      const signal = AbortSignal.any([end, held.over.signal]);
      const { key } = await held.created;
      const reply = await askGateway({ url: this.gatewayUrl, key, body, requestId }, signal);
      if (reply.status !== 401 || attempt > 1) return { reply, signal };
      this.keys.drop(held);
      await reply.body?.cancel();
    }
  }
}

/** Refuses what the gateway would certainly refuse, so that no key is made for it. */
function refuseIncomplete({ request: { model, messages } }: PlaygroundRequest): void {
  if (typeof model !== 'string' || model === '')
    throw new PanelError('invalid_request', 'request.model must be the id of a model.', { param: 'model' });
  if (!Array.isArray(messages) || messages.length === 0)
    throw new PanelError('invalid_request', 'request.messages must have at least one message.', { param: 'messages' });
}

/** Leaves the balance out of a refusal for a caller who may not see it. */
function visibleRefusal(refusal: PanelError, mayReadMoney: boolean): PanelError {
  if (mayReadMoney || refusal.code !== 'insufficient_balance') return refusal;
  const message = 'The account has too little money for the request, or a budget of the page Budgets is spent. Lower the output limit.';
  return new PanelError('insufficient_balance', message, { param: refusal.param });
}

/** An event as the gateway sends it when a reply fails after its start. */
function failureEvent(error: unknown): string {
  const failure =
    error instanceof PanelError ? error : new PanelError('unavailable', 'The connection to the gateway was lost.', { cause: error });
  return `data: ${JSON.stringify(failure.body)}\n\n`;
}

interface GatewayCall {
  /** Address of the gateway, without `/v1`. */
  url: string;
  /** The API key. */
  key: string;
  /** Body of `POST /v1/chat/completions`. */
  body: object;
  /** Id of the panel's request, which the gateway logs. */
  requestId: string;
}

/**
 * Sends a request to the gateway, as one of its clients does. Returns the reply when its head is there.
 * @throws {PanelError} `unavailable`, or the reason of the signal
 */
async function askGateway({ url, key, body, requestId }: GatewayCall, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': requestId },
      body: JSON.stringify({ ...body, stream: true, stream_options: { include_usage: true } }),
      // Another address must not get the key.
      redirect: 'error',
      signal,
    });
  } catch (cause) {
    signal.throwIfAborted();
    throw new PanelError('unavailable', 'The gateway does not answer. Try again in a moment.', { cause });
  }
}

/** Reads a refusal of the gateway. Codes that the panel does not have become `unavailable`. */
async function readRefusal(reply: Response): Promise<PanelError> {
  const body = (await reply.json().catch(() => null)) as { error?: { message?: string; param?: string | null; code?: string } } | null;
  const { message = `The gateway answered with status ${reply.status}.`, param, code = '' } = body?.error ?? {};
  const retryAfterSeconds = Number(reply.headers.get('retry-after')) || undefined;
  return new PanelError(isPanelErrorCode(code) ? code : 'unavailable', message, { param: param ?? undefined, retryAfterSeconds });
}
