import type { Directives } from '../../directives.js';
import type { ReplyPlan } from '../../reply/plan-reply.js';
import type { PlannedCall } from '../../reply/requested-calls.js';
import { shapeUsage } from '../../reply/shape-usage.js';
import { argumentPieces, inTurn, type Piece, pieces, wholeArguments } from '../pieces.js';
import type { ReplyEvent } from '../sim-dialect.js';

/** Fixed, so that the same request gives the same bytes. */
const CREATED = 1_700_000_000;

/** The body of a plain reply. */
export function renderCompletion(plan: ReplyPlan, directives: Directives): string {
  const calls = plan.calls
    .flatMap((call) => (directives.repeat ? [call, call] : [call]))
    .map((call) => ({ ...call, arguments: wholeArguments(call.arguments, directives) }));
  const message = {
    role: 'assistant',
    content: plan.isRefusal || (plan.text === '' && (plan.calls.length > 0 || plan.reasoning !== '')) ? null : plan.text,
    ...(plan.isRefusal ? { refusal: plan.text } : {}),
    ...(plan.reasoning === '' ? {} : { reasoning_content: plan.reasoning }),
    ...(plan.calls.length === 0
      ? {}
      : { tool_calls: calls.map(({ id, name, arguments: text }) => ({ id, type: 'function', function: { name, arguments: text } })) }),
  };
  return JSON.stringify({
    id: plan.id,
    object: 'chat.completion',
    created: CREATED,
    model: plan.model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: plan.finish }],
    ...(directives.nousage ? {} : { usage: shapeUsage(plan.usage, directives) }),
    service_tier: plan.tier,
  });
}

/** The events of a streamed reply, without the closing `[DONE]`. */
export function* renderEvents(plan: ReplyPlan, directives: Directives, includeUsage: boolean): Generator<ReplyEvent> {
  const tier = plan.tier === undefined ? '' : `"service_tier":${JSON.stringify(plan.tier)},`;
  const head = `{"id":"${plan.id}","object":"chat.completion.chunk","created":${CREATED},"model":${JSON.stringify(plan.model)},${tier}"choices":[`;
  const padding = directives.pad ? `,"obfuscation":"${'x'.repeat(directives.pad)}"` : '';
  let written = 0;
  const event = (delta: string, tokens: number): ReplyEvent => {
    written += tokens;
    const usage = directives.usage?.includes('every') ? `,"usage":${JSON.stringify(usageSoFar(plan, written))}` : '';
    return { json: `${head}{"index":0,"delta":${delta},"finish_reason":null}]${padding}${usage}}`, tokens };
  };
  yield event('{"role":"assistant","content":""}', 0);
  for (const { text, tokens } of pieces(plan.reasoning, directives)) yield event(`{"reasoning_content":${JSON.stringify(text)}}`, tokens);
  const channel = plan.isRefusal ? 'refusal' : 'content';
  for (const { text, tokens } of pieces(plan.text, directives)) yield event(`{"${channel}":${JSON.stringify(text)}}`, tokens);
  for (const { json, tokens } of callPieces(plan, directives)) yield event(`{"tool_calls":[${json}]}`, tokens);
  const usage = JSON.stringify(shapeUsage(plan.usage, directives));
  const usageOnFinish = directives.usage?.some((word) => word === 'every' || word === 'finish') === true;
  const finish = `${head}{"index":0,"delta":{},"finish_reason":${JSON.stringify(plan.finish)}}]`;
  yield { json: usageOnFinish ? `${finish},"usage":${usage}}` : `${finish}}`, tokens: 0 };
  if (includeUsage && !usageOnFinish && !directives.nousage) {
    yield { json: `${head}],"usage":${usage}}`, tokens: 0 };
  }
}

function usageSoFar({ usage }: ReplyPlan, tokens: number): object {
  const completion = Math.min(tokens, usage.completion_tokens);
  return { ...usage, completion_tokens: completion, total_tokens: usage.prompt_tokens + completion };
}

/** Yields one call after the other. With `interleave` all calls open first, then each yields a piece in turn. */
function* callPieces({ calls }: ReplyPlan, directives: Directives): Generator<ReplyEvent> {
  const opening = ({ id, name }: PlannedCall, index: number): ReplyEvent => ({
    json: `{"index":${index},"id":"${id}","type":"function","function":{"name":${JSON.stringify(name)},"arguments":""}}`,
    tokens: 0,
  });
  const argument = ({ text, tokens }: Piece, index: number): ReplyEvent => ({
    json: `{"index":${index},"function":{"arguments":${JSON.stringify(text)}}}`,
    tokens,
  });
  const openings = calls.map(opening);
  const deltas = calls.map((call, index) => [
    ...[...argumentPieces(call.arguments, directives)].map((piece) => argument(piece, index)),
    ...(directives.repeat ? [opening(call, index)] : []),
  ]);
  if (directives.interleave) yield* [...openings, ...inTurn(deltas)];
  else yield* openings.flatMap((start, index) => [start, ...(deltas[index] ?? [])]);
}
