import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type ChatRequest, parseChatRequest } from './chat-request.js';
import { type Directives, FAILURES, findDirectives } from './directives.js';
import { SIM_MODELS } from './models.js';
import { planReply, textOfLastUser } from './plan-reply.js';
import { renderCompletion, renderEvents } from './render-reply.js';
import { type Exchange, hangUntilAborted, sendStream } from './send-stream.js';
import { errorReply, SimError } from './sim-error.js';
import { promptTokens } from './usage-rule.js';

export interface ChatEndpoint {
  /** Directives every request starts from. */
  defaults: Directives;
  /** How often a request with `times` has failed, by its last user text. */
  failures: Map<string, number>;
}

const FAILURES_REMEMBERED_MAX = 1_000;

/**
 * Answers one chat completion. `body` is the whole request body. Rejects with the signal's reason when the client leaves.
 *
 * @throws SimError when the request is refused before anything is sent
 */
export async function completeChat(endpoint: ChatEndpoint, body: string, exchange: Exchange): Promise<void> {
  const { response, signal } = exchange;
  const request = parseChatRequest(body);
  const model = SIM_MODELS.get(request.model);
  if (!model) throw SimError.unknownModel(request.model);
  const lastUserText = textOfLastUser(request);
  const directives = untilTimesAreOver(endpoint, lastUserText, findDirectives(lastUserText, endpoint.defaults));
  if (directives.hang === true) return hangUntilAborted(signal);
  if (directives.cut === 0) {
    if (directives.ttft) await delay(directives.ttft, undefined, { signal });
    exchange.breakOff();
    return;
  }
  if (directives.status !== undefined) {
    if (directives.ttft) await delay(directives.ttft, undefined, { signal });
    return sendStatus(response, directives.status, directives);
  }
  if (directives.overflow) throw SimError.contextLength(model.contextTokens, promptTokens(request), model.contextTokens);
  const plan = planReply(request, model, directives);
  if (request.stream) {
    const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
    if (directives.headers === 'early' || directives.hang === 0) response.writeHead(200, headers).flushHeaders();
    await firstTokenWait(response, directives, signal);
    if (!response.headersSent) response.writeHead(200, headers);
    return sendStream(exchange, renderEvents(plan, directives, includesUsage(request)), directives);
  }
  await plainWait(plan.usage.completion_tokens, directives, signal);
  if (directives.error !== undefined) sendStatus(response, 500, directives);
  else sendPlain(exchange, renderCompletion(plan, directives), directives);
}

/** Takes the failures out of the directives of a request that has already failed `times` times. */
function untilTimesAreOver(endpoint: ChatEndpoint, lastUserText: string, directives: Directives): Directives {
  if (directives.times === undefined) return directives;
  const failed = endpoint.failures.get(lastUserText) ?? 0;
  if (failed >= directives.times) {
    return Object.fromEntries(Object.entries(directives).filter(([name]) => !(FAILURES as string[]).includes(name)));
  }
  if (endpoint.failures.size >= FAILURES_REMEMBERED_MAX) endpoint.failures.clear();
  endpoint.failures.set(lastUserText, failed + 1);
  return directives;
}

async function firstTokenWait(response: ServerResponse, { ttft, keepalive }: Directives, signal: AbortSignal): Promise<void> {
  if (!ttft) return;
  if (!keepalive || !response.headersSent) {
    await delay(ttft, undefined, { signal });
    return;
  }
  for (let left = ttft; left > 0; left -= keepalive) {
    await delay(Math.min(left, keepalive), undefined, { signal });
    response.write(': keep-alive\n\n');
  }
}

/** A plain reply takes as long as its stream would. */
async function plainWait(tokens: number, { ttft = 0, rate, hang }: Directives, signal: AbortSignal): Promise<void> {
  if (hang !== undefined) await hangUntilAborted(signal);
  const wait = ttft + (rate ? (tokens / rate) * 1_000 : 0);
  if (wait > 0) await delay(wait, undefined, { signal });
}

function sendPlain(exchange: Exchange, body: string, directives: Directives): void {
  const { response } = exchange;
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  if (directives.cut === undefined && directives.close === undefined) response.end(body);
  else response.write(body.slice(0, body.length >> 1), () => exchange.breakOff());
}

function sendStatus(response: ServerResponse, status: number, directives: Directives): void {
  const { type, body } = errorReply(status, directives.message);
  const retryAfter = directives['retry-after'];
  response.writeHead(status, { 'content-type': type, ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) }).end(body);
}

function includesUsage(request: ChatRequest): boolean {
  return request.stream_options?.include_usage === true;
}

/** Reads a body as text. @throws SimError above `bytesMax` */
export async function readBody(request: IncomingMessage, bytesMax: number): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > bytesMax)
      throw new SimError(413, { message: 'Request too large.', type: 'invalid_request_error', param: null, code: null });
    parts.push(part);
  }
  return Buffer.concat(parts, bytes).toString('utf8');
}
