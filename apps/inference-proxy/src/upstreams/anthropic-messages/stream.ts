import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { isObject, NO_REASON, objectsOf, parseReplyJson } from '../replies/json-object.js';
import { assertFewValues, ITEMS_MAX, overLimit, renderArguments } from '../replies/reply-limits.js';
import { ToolCallAssembler } from '../replies/tool-call-assembler.js';
import type { StreamParser, UpstreamCall } from '../upstream-adapter.js';
import { findError } from './errors.js';

type Json = Record<string, unknown>;

/**
 * Reads a stream of message events. `message_stop` ends it; a stream that closes after its `stop_reason` has said all as
 * well. Pings, signatures, citations and events of later versions are passed over.
 */
export class MessagesStreamParser implements StreamParser {
  done = false;
  private counts: Counts = { uncached: 0, cached: 0, written: 0, output: 0, thinking: 0 };
  private finishReason: FinishReason | undefined;
  private hasContent = false;
  private readonly calls: ToolCallAssembler;
  /** Blocks that are none of ours: tools of the server's own stream their input as calls do. */
  private readonly foreign = new Set<number>();

  constructor(private readonly call: UpstreamCall) {
    this.calls = new ToolCallAssembler(call.request.tools);
  }

  get usageSoFar(): Usage | undefined {
    return usageOf(this.counts);
  }

  push(payload: string, events: StreamEvent[]): void {
    if (this.done || payload.trim() === '' || payload.trim() === '[DONE]') return;
    for (const event of parseEvents(payload)) if (!this.done) this.read(event, events);
  }

  end(events: StreamEvent[]): void {
    if (!this.done) this.finish(events, false);
  }

  read(event: Json, events: StreamEvent[]): void {
    const index = typeof event.index === 'number' ? event.index : 0;
    const failure = findError(event, this.call.request);
    if (failure !== undefined) throw failure;
    switch (event.type) {
      case 'message_start':
        if (isObject(event.message)) this.readStart(event.message.usage);
        return;
      case 'content_block_start':
        if (isObject(event.content_block)) this.startBlock(event.content_block, index, events);
        return;
      case 'content_block_delta':
        if (isObject(event.delta)) this.readDelta(event.delta, index, events);
        return;
      case 'content_block_stop':
        this.foreign.delete(index);
        this.calls.endAt(index, events);
        return;
      case 'message_delta':
        this.readUsage(event.usage);
        if (isObject(event.delta)) this.finishReason = parseStopReason(event.delta.stop_reason) ?? this.finishReason;
        return;
      case 'message_stop':
        this.finish(events, true);
        return;
      case 'message': // the reply in one piece, as the only event (U-24)
        if (Array.isArray(event.content)) this.readMessage(event, event.content, events);
    }
  }

  /** A whole message: it says what the stream would have said that builds it. */
  readMessage(message: Json, content: readonly unknown[], events: StreamEvent[]): void {
    for (const [index, block] of content.entries()) {
      this.read({ type: 'content_block_start', index, content_block: block }, events);
      this.read({ type: 'content_block_stop', index }, events);
    }
    this.read({ type: 'message_delta', delta: message, usage: message.usage }, events);
    this.finish(events, true);
  }

  /** `complete`: the upstream has said that this was all. */
  finish(events: StreamEvent[], complete: boolean): void {
    const reason = this.finishReason ?? (complete && (this.hasContent || this.calls.count > 0) ? 'stop' : undefined);
    if (reason === undefined) {
      throw new UpstreamFailure('broken', 'upstream_error', {
        detail: complete ? 'an empty reply' : 'the stream ended without a stop reason',
      });
    }
    this.calls.end(events);
    const usage = usageOf(this.counts);
    if (usage !== undefined) events.push({ type: 'usage-report', usage });
    events.push({ type: 'completion-finish', reason: withCalls(reason, this.calls.announced > 0) });
    this.done = true;
  }

  private startBlock(block: Json, index: number, events: StreamEvent[]): void {
    this.foreign.delete(index);
    if (block.type === 'tool_use') {
      const { id, name, input } = block;
      const argumentsText = isEmpty(input) ? undefined : renderArguments(input);
      this.calls.push({ index, id: wordOf(id), name: wordOf(name), argumentsText }, events);
    } else if (block.type === 'text') this.append('text-delta', block.text, events);
    else if (block.type === 'thinking') this.append('reasoning-delta', block.thinking, events);
    else {
      if (this.foreign.size >= ITEMS_MAX) throw overLimit('blocks');
      this.foreign.add(index);
    }
  }

  private readDelta(delta: Json, index: number, events: StreamEvent[]): void {
    if (this.foreign.has(index)) return;
    if (delta.type === 'text_delta') this.append('text-delta', delta.text, events);
    else if (delta.type === 'thinking_delta') this.append('reasoning-delta', delta.thinking, events);
    else if (delta.type === 'input_json_delta') this.calls.push({ index, argumentsText: renderArguments(delta.partial_json) }, events);
  }

  private append(type: 'text-delta' | 'reasoning-delta', text: unknown, events: StreamEvent[]): void {
    if (typeof text !== 'string' || text === '') return;
    this.hasContent = true;
    events.push({ type, text });
  }

  /** The output at the start is not that of the reply: where no later event counts, there is no count. */
  private readStart(usage: unknown): void {
    this.readUsage(usage);
    this.counts.output = 0;
  }

  private readUsage(usage: unknown): void {
    if (isObject(usage)) this.counts = laterOf(this.counts, usage);
  }
}

function parseEvents(payload: string): Json[] {
  assertFewValues(payload);
  try {
    return objectsOf(parseReplyJson(payload));
  } catch (cause) {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'an event that is not JSON', cause });
  }
}

/** What the input of a call is at its start, when it follows in pieces. */
function isEmpty(input: unknown): boolean {
  return typeof input === 'object' && input !== null && Object.keys(input).length === 0;
}

function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A map: the words are an upstream's, and `constructor` is a field of every object. */
const STOP_REASONS: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries<FinishReason>({
    end_turn: 'stop',
    stop_sequence: 'stop-sequence',
    tool_use: 'tool-calls',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    pause_turn: 'length', // the turn is not over
    refusal: 'content-filter',
  }),
);

/** An unknown word is a stop; none is none, also in words. */
function parseStopReason(value: unknown): FinishReason | undefined {
  return typeof value === 'string' && !NO_REASON.test(value) ? (STOP_REASONS.get(value) ?? 'stop') : undefined;
}

/** Calls make the finish `tool-calls`, but a cut stays a cut (T-18, T-19). */
function withCalls(reason: FinishReason, hasCalls: boolean): FinishReason {
  if (reason === 'length' || reason === 'content-filter') return reason;
  if (hasCalls) return 'tool-calls';
  return reason === 'tool-calls' ? 'stop' : reason;
}

/** `input_tokens` leaves out what was read from, and written to, the cache: the prompt is all three. */
interface Counts {
  uncached: number;
  cached: number;
  written: number;
  output: number;
  thinking: number;
}

/**
 * Counts are cumulative: what is told later replaces what was told before, never adds to it (T-25). Whatever is no number, and a count
 * that has fallen, is no news. The parts of a prompt are taken together, since they may be parted anew: 80, then 50 and 30 cached.
 */
function laterOf(known: Counts, usage: Json): Counts {
  const prompt = {
    uncached: countOf(usage.input_tokens) ?? known.uncached,
    cached: countOf(usage.cache_read_input_tokens) ?? known.cached,
    written: countOf(usage.cache_creation_input_tokens) ?? known.written,
  };
  const growth = promptOf(prompt) - promptOf(known);
  const details = isObject(usage.output_tokens_details) ? usage.output_tokens_details : {};
  return {
    ...known,
    ...(growth > 0 || (growth === 0 && prompt.cached >= known.cached) ? prompt : {}),
    output: Math.max(known.output, countOf(usage.output_tokens) ?? 0),
    thinking: Math.max(known.thinking, countOf(details.thinking_tokens) ?? 0),
  };
}

/** Undefined when nothing was counted (U-3). */
function usageOf(counts: Counts): Usage | undefined {
  const promptTokens = promptOf(counts);
  const { cached, output: outputTokens, thinking } = counts;
  if (promptTokens === 0 && outputTokens === 0) return undefined;
  return {
    promptTokens,
    cachedTokens: cached,
    outputTokens,
    reasoningTokens: Math.min(thinking, outputTokens),
    promptSource: 'reported',
    outputSource: 'reported',
  };
}

const TOKENS_MAX = 2 ** 31 - 1;

function promptOf({ uncached, cached, written }: Omit<Counts, 'output' | 'thinking'>): number {
  return Math.min(TOKENS_MAX, uncached + cached + written);
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' ? Math.min(TOKENS_MAX, Math.max(0, Math.trunc(value))) : undefined;
}
