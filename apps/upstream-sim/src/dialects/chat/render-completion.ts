import type { Directives } from '../../directives.js';
import type { ReplyPlan } from '../../reply/plan-reply.js';
import { type Piece, pieces } from '../pieces.js';
import type { ReplyEvent } from '../sim-dialect.js';

/** Fixed, so that the same request gives the same bytes. */
const CREATED = 1_700_000_000;

/** The body of a plain reply. */
export function renderCompletion(plan: ReplyPlan, directives: Directives): string {
  const message = {
    role: 'assistant',
    content: plan.isRefusal || (plan.text === '' && (plan.calls.length > 0 || plan.reasoning !== '')) ? null : plan.text,
    ...(plan.isRefusal ? { refusal: plan.text } : {}),
    ...(plan.reasoning === '' ? {} : { reasoning_content: plan.reasoning }),
    ...(plan.calls.length === 0
      ? {}
      : { tool_calls: plan.calls.map(({ id, name, arguments: text }) => ({ id, type: 'function', function: { name, arguments: text } })) }),
  };
  return JSON.stringify({
    id: plan.id,
    object: 'chat.completion',
    created: CREATED,
    model: plan.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: plan.finish }],
    ...(directives.nousage ? {} : { usage: plan.usage }),
  });
}

/** The events of a streamed reply, without the closing `[DONE]`. */
export function* renderEvents(plan: ReplyPlan, directives: Directives, includeUsage: boolean): Generator<ReplyEvent> {
  const head = `{"id":"${plan.id}","object":"chat.completion.chunk","created":${CREATED},"model":${JSON.stringify(plan.model)},"choices":[`;
  const padding = directives.pad ? `,"obfuscation":"${'x'.repeat(directives.pad)}"` : '';
  let written = 0;
  const event = (delta: string, tokens: number): ReplyEvent => {
    written += tokens;
    const usage = directives.usage === 'every' ? `,"usage":${JSON.stringify(usageSoFar(plan, written))}` : '';
    return { json: `${head}{"index":0,"delta":${delta},"finish_reason":null}]${padding}${usage}}`, tokens };
  };
  const chunk = Math.max(1, Math.floor(directives.chunk ?? 1));
  yield event('{"role":"assistant","content":""}', 0);
  for (const { text, tokens } of pieces(plan.reasoning, chunk)) yield event(`{"reasoning_content":${JSON.stringify(text)}}`, tokens);
  const channel = plan.isRefusal ? 'refusal' : 'content';
  for (const { text, tokens } of pieces(plan.text, chunk)) yield event(`{"${channel}":${JSON.stringify(text)}}`, tokens);
  for (const { json, tokens } of callPieces(plan, chunk, directives.interleave === true)) yield event(`{"tool_calls":[${json}]}`, tokens);
  const usageOnFinish = directives.usage === 'every' || directives.usage === 'finish';
  const finish = `${head}{"index":0,"delta":{},"finish_reason":${JSON.stringify(plan.finish)}}]`;
  yield { json: usageOnFinish ? `${finish},"usage":${JSON.stringify(plan.usage)}}` : `${finish}}`, tokens: 0 };
  if (includeUsage && !usageOnFinish && !directives.nousage) {
    yield { json: `${head}],"usage":${JSON.stringify(plan.usage)}}`, tokens: 0 };
  }
}

function usageSoFar({ usage }: ReplyPlan, tokens: number): object {
  const completion = Math.min(tokens, usage.completion_tokens);
  return { ...usage, completion_tokens: completion, total_tokens: usage.prompt_tokens + completion };
}

interface CallPiece {
  json: string;
  tokens: number;
}

/** Yields one call after the other. With `interleave` all calls open first, then each yields a piece in turn. */
function* callPieces(plan: ReplyPlan, chunk: number, interleave: boolean): Generator<CallPiece> {
  const opening = ({ id, name }: { id: string; name: string }, index: number): CallPiece => ({
    json: `{"index":${index},"id":"${id}","type":"function","function":{"name":${JSON.stringify(name)},"arguments":""}}`,
    tokens: 0,
  });
  const argument = ({ text, tokens }: Piece, index: number): CallPiece => ({
    json: `{"index":${index},"function":{"arguments":${JSON.stringify(text)}}}`,
    tokens,
  });
  if (!interleave) {
    for (const [index, call] of plan.calls.entries()) {
      yield opening(call, index);
      for (const piece of pieces(call.arguments, chunk)) yield argument(piece, index);
    }
    return;
  }
  for (const [index, call] of plan.calls.entries()) yield opening(call, index);
  const queues = plan.calls.map((call) => [...pieces(call.arguments, chunk)]);
  for (let turn = 0; queues.some((queue) => turn < queue.length); turn++) {
    for (const [index, queue] of queues.entries()) {
      const piece = queue[turn];
      if (piece) yield argument(piece, index);
    }
  }
}
