import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { DialectRequest, SimDialect } from './dialects/sim-dialect.js';
import { type Directives, FAILURES, findDirectives } from './directives.js';
import { ignoreAbilities, refuseAbilities } from './limited-abilities.js';
import type { CacheablePrompt, PromptCache } from './prompt-cache.js';
import { SIM_MODELS } from './reply/models.js';
import { planReply, type ReplyUsage, readLastUserText } from './reply/plan-reply.js';
import { promptTokens } from './reply/usage-rule.js';
import { hangUntilAborted, type SimReply, sendStream, stayOpen } from './send-stream.js';
import { SimError } from './sim-error.js';

/** State that requests of all dialects share. */
export interface SimState {
  /** Directives of every request that does not override them. */
  defaults: Directives;
  /** Failures so far of each request with `times`, by its last user text. */
  failures: Map<string, number>;
  cache: PromptCache;
}

const FAILURES_REMEMBERED_MAX = 1_000;
/** Directives that state counts of the prompt. They leave the cache alone. */
const COUNTS = ['prompt', 'cached', 'written', 'written-1h'] as const satisfies (keyof Directives)[];

/**
 * Answers one generation request. Rejects when the client disconnects.
 *
 * @throws SimError for a refusal before anything is sent
 */
export async function answerRequest(
  dialect: SimDialect,
  state: SimState,
  body: string,
  { chat, cacheable, renderReply, renderEvents }: DialectRequest,
  reply: SimReply,
): Promise<void> {
  const { response, signal } = reply;
  const model = SIM_MODELS.get(chat.model);
  if (!model) throw SimError.unknownModel(chat.model);
  const lastUserText = readLastUserText(chat);
  const directives = limitFailures(state, lastUserText, findDirectives(lastUserText, state.defaults));
  if (directives.hang === true) return hangUntilAborted(signal);
  if (directives.cut === 0) {
    if (directives.ttft) await delay(directives.ttft, undefined, { signal });
    reply.breakOff();
    return;
  }
  if (directives.status !== undefined) {
    if (directives.ttft) await delay(directives.ttft, undefined, { signal });
    return sendStatus(dialect, response, directives.status, directives);
  }
  refuseAbilities(chat, body, directives.refuse);
  const request = ignoreAbilities(chat, directives.ignore);
  if (directives.overflow) throw SimError.contextLength(model.contextTokens, promptTokens(request), model.contextTokens);
  if (directives['tool-use-failed']) throw SimError.toolUseFailed();
  const plan = planReply(request, model, directives);
  if (directives.cache && !COUNTS.some((name) => directives[name] !== undefined)) {
    plan.usage = usageWithCache(plan.usage, state.cache, cacheable(request));
  }
  if (request.stream) {
    const type = dialect.frame === undefined ? 'text/event-stream; charset=utf-8' : 'application/vnd.amazon.eventstream';
    const headers = { 'content-type': type, 'cache-control': 'no-cache' };
    if (directives.headers !== undefined || directives.hang === 0) response.writeHead(200, headers).flushHeaders();
    await firstTokenWait(response, dialect, directives, signal);
    if (!response.headersSent) response.writeHead(200, headers);
    if (directives.clock) plan.text = withClock(plan.text);
    return sendStream(reply, renderEvents(plan, directives), directives, dialect);
  }
  await plainWait(plan.usage.completion_tokens, directives, signal);
  if (directives.error !== undefined) sendStatus(dialect, response, 500, directives);
  else await sendPlain(reply, renderReply(plan, directives), directives);
}

function usageWithCache(usage: ReplyUsage, cache: PromptCache, { prefixes, billsWrites }: CacheablePrompt): ReplyUsage {
  const { read, written } = cache.use(prefixes, usage.prompt_tokens);
  const creation = { ephemeral_5m_input_tokens: written['5m'], ephemeral_1h_input_tokens: written['1h'] };
  return { ...usage, prompt_tokens_details: { cached_tokens: read }, ...(billsWrites && { cache_creation: creation }) };
}

/** Removes the failures from the directives of a request that has failed `times` times already. */
function limitFailures(state: SimState, lastUserText: string, directives: Directives): Directives {
  if (directives.times === undefined) return directives;
  const failed = state.failures.get(lastUserText) ?? 0;
  if (failed >= directives.times) {
    return Object.fromEntries(Object.entries(directives).filter(([name]) => !(FAILURES as string[]).includes(name)));
  }
  if (state.failures.size >= FAILURES_REMEMBERED_MAX) state.failures.clear();
  state.failures.set(lastUserText, failed + 1);
  return directives;
}

async function firstTokenWait(
  response: ServerResponse,
  { frame }: SimDialect,
  { ttft, keepalive }: Directives,
  signal: AbortSignal,
): Promise<void> {
  if (!ttft) return;
  if (!keepalive || !response.headersSent || frame !== undefined) {
    await delay(ttft, undefined, { signal });
    return;
  }
  for (let left = ttft; left > 0; left -= keepalive) {
    await delay(Math.min(left, keepalive), undefined, { signal });
    response.write(': keep-alive\n\n');
  }
}

/** Replaces the start of a text by the machine's monotonic time in microseconds, 16 digits. */
function withClock(text: string): string {
  return (String(process.hrtime.bigint() / 1_000n).padStart(16, '0') + text.slice(16)).slice(0, text.length);
}

/** Waits as long as the stream of the same reply would take. */
async function plainWait(tokens: number, { ttft = 0, rate, hang }: Directives, signal: AbortSignal): Promise<void> {
  if (hang !== undefined) await hangUntilAborted(signal);
  const wait = ttft + (rate ? (tokens / rate) * 1_000 : 0);
  if (wait > 0) await delay(wait, undefined, { signal });
}

async function sendPlain(reply: SimReply, body: string, directives: Directives): Promise<void> {
  const { response, signal } = reply;
  if (directives.open !== undefined) {
    response.writeHead(200, { 'content-type': 'application/json' }).write(body);
    return stayOpen(signal, directives.open, () => response.write('\n'));
  }
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  if (directives.cut === undefined && directives.close === undefined) response.end(body);
  else response.write(body.slice(0, body.length >> 1), () => reply.breakOff());
}

function sendStatus(dialect: SimDialect, response: ServerResponse, status: number, directives: Directives): void {
  const { type, body } = errorReply(dialect, status, directives.message);
  const retryAfter = directives['retry-after'];
  response.writeHead(status, { 'content-type': type, ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) }).end(body);
}

/**
 * Renders an error reply: the dialect's JSON, or for 502 and 504 the HTML page of a reverse proxy. `message` replaces the default
 * message of the status.
 */
function errorReply(dialect: SimDialect, status: number, message?: string): { type: string; body: string } {
  if (status === 502 || status === 504) {
    const title = status === 502 ? '502 Bad Gateway' : '504 Gateway Time-out';
    return { type: 'text/html', body: `<html>\r\n<head><title>${title}</title></head>\r\n<body>${message ?? title}</body>\r\n</html>\r\n` };
  }
  const usual = SimError.ofStatus(status).body;
  const error = { ...usual, message: message ?? usual.message };
  return { type: 'application/json', body: JSON.stringify(dialect.renderError(error, status)) };
}
