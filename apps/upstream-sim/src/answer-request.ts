import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Directives, FAILURES, findDirectives } from './directives.js';
import { ignoreAbilities, refuseAbilities } from './limited-abilities.js';
import { SIM_MODELS } from './reply/models.js';
import { planReply, textOfLastUser } from './reply/plan-reply.js';
import { type Exchange, hangUntilAborted, sendStream } from './send-stream.js';
import type { SimDialect } from './dialects/sim-dialect.js';
import { errorReply, SimError } from './sim-error.js';
import { promptTokens } from './reply/usage-rule.js';

/** What requests of all dialects share. */
export interface SimState {
  /** Directives every request starts from. */
  defaults: Directives;
  /** How often a request with `times` has failed, by its last user text. */
  failures: Map<string, number>;
}

const FAILURES_REMEMBERED_MAX = 1_000;

/**
 * Answers one generation request. `body` is the whole request body. Rejects with the signal's reason when the client leaves.
 *
 * @throws SimError when the request is refused before anything is sent
 */
export async function answerRequest(dialect: SimDialect, state: SimState, body: string, exchange: Exchange): Promise<void> {
  const { response, signal } = exchange;
  const { chat, renderReply, renderEvents } = dialect.parseRequest(body);
  const model = SIM_MODELS.get(chat.model);
  if (!model) throw SimError.unknownModel(chat.model);
  const lastUserText = textOfLastUser(chat);
  const directives = untilTimesAreOver(state, lastUserText, findDirectives(lastUserText, state.defaults));
  if (directives.hang === true) return hangUntilAborted(signal);
  if (directives.cut === 0) {
    if (directives.ttft) await delay(directives.ttft, undefined, { signal });
    exchange.breakOff();
    return;
  }
  if (directives.status !== undefined) {
    if (directives.ttft) await delay(directives.ttft, undefined, { signal });
    return sendStatus(dialect, response, directives.status, directives);
  }
  refuseAbilities(chat, body, directives.refuse);
  const request = ignoreAbilities(chat, directives.ignore);
  if (directives.overflow) throw SimError.contextLength(model.contextTokens, promptTokens(request), model.contextTokens);
  const plan = planReply(request, model, directives);
  if (request.stream) {
    const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' };
    if (directives.headers === 'early' || directives.hang === 0) response.writeHead(200, headers).flushHeaders();
    await firstTokenWait(response, directives, signal);
    if (!response.headersSent) response.writeHead(200, headers);
    if (directives.clock) plan.text = withClock(plan.text);
    return sendStream(exchange, renderEvents(plan, directives), directives, dialect);
  }
  await plainWait(plan.usage.completion_tokens, directives, signal);
  if (directives.error !== undefined) sendStatus(dialect, response, 500, directives);
  else sendPlain(exchange, renderReply(plan, directives), directives);
}

/** Takes the failures out of the directives of a request that has already failed `times` times. */
function untilTimesAreOver(state: SimState, lastUserText: string, directives: Directives): Directives {
  if (directives.times === undefined) return directives;
  const failed = state.failures.get(lastUserText) ?? 0;
  if (failed >= directives.times) {
    return Object.fromEntries(Object.entries(directives).filter(([name]) => !(FAILURES as string[]).includes(name)));
  }
  if (state.failures.size >= FAILURES_REMEMBERED_MAX) state.failures.clear();
  state.failures.set(lastUserText, failed + 1);
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

/** The beginning of a text replaced by the time on the clock that all processes of a machine share: 16 digits, microseconds. */
function withClock(text: string): string {
  return (String(process.hrtime.bigint() / 1_000n).padStart(16, '0') + text.slice(16)).slice(0, text.length);
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

function sendStatus(dialect: SimDialect, response: ServerResponse, status: number, directives: Directives): void {
  const { type, body } = errorReply(dialect, status, directives.message);
  const retryAfter = directives['retry-after'];
  response.writeHead(status, { 'content-type': type, ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) }).end(body);
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
