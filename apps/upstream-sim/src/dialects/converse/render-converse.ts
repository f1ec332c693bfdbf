import type { Directives } from '../../directives.js';
import type { Json } from '../../field-checks.js';
import type { ReplyPlan } from '../../reply/plan-reply.js';
import { renderUsage } from '../messages/render-message.js';
import { parseArguments } from '../parse-arguments.js';
import { argumentPieces, inTurn, pieces, wholeArguments } from '../pieces.js';
import type { ReplyEvent } from '../sim-dialect.js';

/** The body of a plain reply. */
export function renderConverse(plan: ReplyPlan, directives: Directives): string {
  const content = [
    ...(plan.reasoning === '' ? [] : [{ reasoningContent: { reasoningText: { text: plan.reasoning, signature: 'sim' } } }]),
    ...(plan.text === '' ? [] : [{ text: plan.text }]),
    ...plan.calls.flatMap((call) => {
      const input = parseArguments(wholeArguments(call.arguments, directives));
      const block = { toolUse: { toolUseId: call.id, name: call.name, input } };
      return directives.repeat ? [block, block] : [block];
    }),
  ];
  const metrics = { latencyMs: 1 };
  return JSON.stringify({
    output: { message: { role: 'assistant', content } },
    stopReason: findReason(plan),
    metrics,
    ...usageField(plan, directives),
  });
}

/** The events of a streamed reply, one block after the other. With `interleave` all calls start first, then each yields a piece in turn. */
export function* renderConverseEvents(plan: ReplyPlan, directives: Directives): Generator<ReplyEvent> {
  yield event('messageStart', { role: 'assistant' });
  const blocks = listBlocks(plan).map((block, index) => blockEvents(block, index, directives));
  const together = directives.interleave ? plan.calls.length : 0;
  for (const { start, deltas, stop } of blocks.slice(0, blocks.length - together)) yield* [...start, ...deltas, ...stop];
  const calls = blocks.slice(blocks.length - together);
  for (const { start } of calls) yield* start;
  yield* inTurn(calls.map(({ deltas }) => deltas));
  for (const { stop } of calls) yield* stop;
  yield event('messageStop', { stopReason: findReason(plan) });
  yield event('metadata', { ...usageField(plan, directives), metrics: { latencyMs: 1 } });
}

interface SimBlock {
  /** Absent: only calls have an event at their start. */
  start?: Json;
  text: string;
  renderDelta(piece: string): Json;
}

function listBlocks({ reasoning, text, calls }: ReplyPlan): SimBlock[] {
  const thinking: SimBlock = { text: reasoning, renderDelta: (piece) => ({ reasoningContent: { text: piece } }) };
  const said: SimBlock = { text, renderDelta: (piece) => ({ text: piece }) };
  const used = calls.map(
    (call): SimBlock => ({
      start: { toolUse: { toolUseId: call.id, name: call.name } },
      text: call.arguments,
      renderDelta: (piece) => ({ toolUse: { input: piece } }),
    }),
  );
  return [...[thinking, said].filter((block) => block.text !== ''), ...used];
}

function blockEvents({ start, text, renderDelta }: SimBlock, contentBlockIndex: number, directives: Directives) {
  const padding = directives.pad ? { p: 'x'.repeat(directives.pad) } : {};
  const opening = start === undefined ? [] : [event('contentBlockStart', { contentBlockIndex, start })];
  const stop = event('contentBlockStop', { contentBlockIndex });
  return {
    start: opening,
    deltas: [...(start === undefined ? pieces(text, directives) : argumentPieces(text, directives))].map(({ text: piece, tokens }) =>
      event('contentBlockDelta', { contentBlockIndex, delta: renderDelta(piece), ...padding }, tokens),
    ),
    stop: opening.length > 0 && directives.repeat ? [stop, ...opening, stop] : [stop],
  };
}

function event(name: string, fields: Json, tokens = 0): ReplyEvent {
  return { name, json: JSON.stringify(fields), tokens };
}

const REASONS: Record<string, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'guardrail_intervened',
};

function findReason({ finish }: ReplyPlan): string {
  return REASONS[finish] ?? finish;
}

function usageField(plan: ReplyPlan, { nousage }: Directives): Json {
  const served = plan.tier !== undefined && { serviceTier: { type: plan.tier } };
  if (nousage) return { ...served };
  const {
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    cache_creation,
  } = renderUsage(plan) as Record<string, number> & { cache_creation?: Record<string, number> };
  const details = Object.entries(cache_creation ?? {}).flatMap(([name, inputTokens]) =>
    inputTokens > 0 ? [{ ttl: name.replace(/^ephemeral_(\w+)_input_tokens$/, '$1'), inputTokens }] : [],
  );
  return {
    usage: {
      inputTokens: input,
      outputTokens: output,
      totalTokens: Number(input) + Number(output),
      cacheReadInputTokens: read,
      cacheWriteInputTokens: written,
      ...(details.length > 0 && { cacheDetails: details }),
    },
    ...served,
  };
}
