import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { UpstreamFailure } from '../../upstream-failure.js';
import { isObject, parseReplyJson } from '../json-object.js';
import { assertFewValues, ITEMS_MAX, overLimit, renderArguments } from '../reply-limits.js';
import { ToolCallAssembler } from '../tool-call-assembler.js';
import type { StreamParser, UpstreamCall } from '../upstream-adapter.js';
import { findError } from './errors.js';

type Json = Record<string, unknown>;

/**
 * Reads a stream of message events. `message_stop` ends it; a stream that closes after its `stop_reason` has said all as
 * well. Pings, signatures, citations and events of later versions are passed over.
 */
export class MessagesStreamParser implements StreamParser {
  done = false;
  /** As reported so far. */
  private usage: Usage | undefined;
  private counts: Json = {};
  private finishReason: FinishReason | undefined;
  private hasContent = false;
  private readonly calls: ToolCallAssembler;
  /** Blocks that are none of ours: tools of the server's own stream their input as calls do. */
  private readonly foreign = new Set<number>();

  constructor(private readonly call: UpstreamCall) {
    this.calls = new ToolCallAssembler(call.request.tools);
  }

  push(payload: string, events: StreamEvent[]): void {
    if (this.done || payload.trim() === '' || payload.trim() === '[DONE]') return;
    this.read(parseEvent(payload), events);
  }

  end(events: StreamEvent[]): void {
    if (!this.done) this.finish(events, false);
  }

  read(event: Json, events: StreamEvent[]): void {
    const index = typeof event.index === 'number' ? event.index : 0;
    switch (event.type) {
      case 'message_start':
        if (isObject(event.message)) this.readUsage(event.message.usage);
        return;
      case 'content_block_start':
        if (isObject(event.content_block)) this.startBlock(event.content_block, index, events);
        return;
      case 'content_block_delta':
        if (isObject(event.delta)) this.readDelta(event.delta, index, events);
        return;
      case 'content_block_stop':
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
        return;
      default: {
        const failure = findError(event, this.call.request);
        if (failure !== undefined) throw failure;
      }
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
    if (this.usage !== undefined) events.push({ type: 'usage-report', usage: this.usage });
    events.push({ type: 'completion-finish', reason: withCalls(reason, this.calls.announced > 0) });
    this.done = true;
  }

  private startBlock(block: Json, index: number, events: StreamEvent[]): void {
    if (block.type === 'tool_use') {
      const input = isObject(block.input) && Object.keys(block.input).length > 0 ? renderArguments(block.input) : undefined;
      this.calls.push({ index, id: wordOf(block.id), name: wordOf(block.name), argumentsText: input }, events);
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
    else if (delta.type === 'input_json_delta') this.calls.push({ index, argumentsText: wordOf(delta.partial_json) }, events);
  }

  private append(type: 'text-delta' | 'reasoning-delta', text: unknown, events: StreamEvent[]): void {
    if (typeof text !== 'string' || text === '') return;
    this.hasContent = true;
    events.push({ type, text });
  }

  /** Counts are cumulative: what is told later replaces what was told before, never adds to it (T-25). */
  private readUsage(usage: unknown): void {
    if (!isObject(usage)) return;
    for (const name of COUNTS) if (usage[name] !== null && usage[name] !== undefined) this.counts[name] = usage[name];
    this.usage = parseUsage(this.counts);
  }
}

function parseEvent(payload: string): Json {
  assertFewValues(payload);
  try {
    const value = parseReplyJson(payload);
    return isObject(value) ? value : {};
  } catch (cause) {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'an event that is not JSON', cause });
  }
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

/** An unknown word is a stop; none is none. */
function parseStopReason(value: unknown): FinishReason | undefined {
  return typeof value === 'string' && value !== '' ? (STOP_REASONS.get(value) ?? 'stop') : undefined;
}

/** Calls make the finish `tool-calls`, but a cut stays a cut (T-18, T-19). */
function withCalls(reason: FinishReason, hasCalls: boolean): FinishReason {
  if (reason === 'length' || reason === 'content-filter') return reason;
  if (hasCalls) return 'tool-calls';
  return reason === 'tool-calls' ? 'stop' : reason;
}

const COUNTS = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens', 'output_tokens_details'];

/** `input_tokens` leaves out what was read from, and written to, the cache: the prompt is all three. */
function parseUsage(counts: Json): Usage | undefined {
  const cachedTokens = tokens(counts.cache_read_input_tokens);
  const promptTokens = tokens(tokens(counts.input_tokens) + cachedTokens + tokens(counts.cache_creation_input_tokens));
  const outputTokens = tokens(counts.output_tokens);
  if (promptTokens === 0 && outputTokens === 0) return undefined;
  const details = isObject(counts.output_tokens_details) ? counts.output_tokens_details : {};
  const reasoningTokens = Math.min(tokens(details.thinking_tokens), outputTokens);
  return { promptTokens, cachedTokens, outputTokens, reasoningTokens, source: 'reported' };
}

const TOKENS_MAX = 2 ** 31 - 1;

function tokens(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(TOKENS_MAX, Math.trunc(value)) : 0;
}
