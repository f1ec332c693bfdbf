import type { Directives } from '../../directives.js';
import type { Json } from '../../field-checks.js';
import type { ReplyPlan } from '../../reply/plan-reply.js';
import { parseArguments } from '../parse-arguments.js';
import { argumentPieces, inTurn, pieces, wholeArguments } from '../pieces.js';
import type { ReplyEvent } from '../sim-dialect.js';

/** The body of a plain reply. */
export function renderMessage(plan: ReplyPlan, directives: Directives): string {
  return JSON.stringify({
    ...messageHead(plan),
    content: [
      ...(plan.reasoning === '' ? [] : [{ type: 'thinking', thinking: plan.reasoning, signature: 'sim' }]),
      ...(plan.text === '' ? [] : [{ type: 'text', text: plan.text }]),
      ...plan.calls.flatMap((call) => {
        const block = { type: 'tool_use', id: call.id, name: call.name, input: parseArguments(wholeArguments(call.arguments, directives)) };
        return directives.repeat ? [block, block] : [block];
      }),
    ],
    stop_reason: renderStopReason(plan),
    usage: directives.nousage ? undefined : renderUsage(plan),
  });
}

/** The events of a streamed reply, one block after the other. With `interleave` all calls open first, then each yields a piece in turn. */
export function* renderMessageEvents(plan: ReplyPlan, directives: Directives): Generator<ReplyEvent> {
  const usage = directives.nousage ? undefined : renderUsage(plan);
  yield event('message_start', {
    message: { ...messageHead(plan), content: [], stop_reason: null, usage: usage && { ...usage, output_tokens: 1 } },
  });
  yield event('ping', {});
  const blocks = renderBlocks(plan).map((block, index) => blockEvents(block, index, directives));
  const together = directives.interleave ? plan.calls.length : 0;
  for (const { start, deltas, stop } of blocks.slice(0, blocks.length - together)) {
    yield start;
    yield* deltas;
    yield* stop;
  }
  const calls = blocks.slice(blocks.length - together);
  for (const { start } of calls) yield start;
  yield* inTurn(calls.map(({ deltas }) => deltas));
  for (const { stop } of calls) yield* stop;
  yield event('message_delta', { delta: { stop_reason: renderStopReason(plan), stop_sequence: null }, usage });
}

function blockEvents({ empty, text, isCall, renderDelta }: SimBlock, index: number, directives: Directives) {
  const padding = directives.pad ? { obfuscation: 'x'.repeat(directives.pad) } : {};
  const start = event('content_block_start', { index, content_block: empty });
  const stop = event('content_block_stop', { index });
  return {
    start,
    deltas: [...(isCall ? argumentPieces(text, directives) : pieces(text, directives))].map(({ text: piece, tokens }) =>
      event('content_block_delta', { index, delta: renderDelta(piece), ...padding }, tokens),
    ),
    stop: isCall && directives.repeat ? [stop, start, stop] : [stop],
  };
}

function event(type: string, fields: Json, tokens = 0): ReplyEvent {
  return { name: type, json: JSON.stringify({ type, ...fields }), tokens };
}

interface SimBlock {
  empty: Json;
  text: string;
  isCall?: true;
  renderDelta(piece: string): Json;
}

function renderBlocks({ reasoning, text, calls }: ReplyPlan): SimBlock[] {
  const thinking: SimBlock = {
    empty: { type: 'thinking', thinking: '', signature: '' },
    text: reasoning,
    renderDelta: (piece) => ({ type: 'thinking_delta', thinking: piece }),
  };
  const said: SimBlock = { empty: { type: 'text', text: '' }, text, renderDelta: (piece) => ({ type: 'text_delta', text: piece }) };
  const used = calls.map(
    (call): SimBlock => ({
      empty: { type: 'tool_use', id: call.id, name: call.name, input: {} },
      text: call.arguments,
      isCall: true,
      renderDelta: (piece) => ({ type: 'input_json_delta', partial_json: piece }),
    }),
  );
  return [...[thinking, said].filter((block) => block.text !== ''), ...used];
}

function messageHead({ id, model }: ReplyPlan): Json {
  return { id: id.replace('chatcmpl', 'msg'), type: 'message', role: 'assistant', model, stop_sequence: null };
}

const STOP_REASONS: Record<string, string> = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use', content_filter: 'refusal' };

function renderStopReason({ finish }: ReplyPlan): string {
  return STOP_REASONS[finish] ?? finish;
}

/** The same counts as in chat, except that `input_tokens` leaves out the tokens of the cache. */
export function renderUsage({ usage, tier }: ReplyPlan): Json {
  const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
  const { cache_creation: creation } = usage;
  const written = creation ? creation.ephemeral_5m_input_tokens + creation.ephemeral_1h_input_tokens : 0;
  const reasoning = usage.completion_tokens_details?.reasoning_tokens;
  return {
    input_tokens: usage.prompt_tokens - cached - written,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    ...(creation && { cache_creation: creation }),
    output_tokens: usage.completion_tokens,
    ...(reasoning === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoning } }),
    service_tier: tier,
  };
}
