import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import { servedTier, type Usage } from '#inference/usage.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { endReply } from '../replies/end-reply.js';
import { worseReason } from '../replies/finish-words.js';
import { isObject, parseEvents } from '../replies/json-object.js';
import { renderArguments } from '../replies/reply-limits.js';
import { findThinkTags, type ThinkTags } from '../replies/think-tags.js';
import { ToolCallAssembler } from '../replies/tool-call-assembler.js';
import type { StreamParser, UpstreamCall } from '../upstream-adapter.js';
import { findError } from './errors.js';
import { parseFinishReason } from './finish-reason.js';
import { TextChunkTemplate } from './text-chunk-template.js';
import { parseUsage } from './usage.js';

type Json = Record<string, unknown>;

/** Parses a stream of chat completion chunks. Holds the finish back until the stream ends, because usage or an error may follow it. */
export class ChatStreamParser implements StreamParser {
  done = false;
  private usage: Usage | undefined;
  tier: string | undefined;
  finishReason: FinishReason | undefined;
  /** True when content followed the last finish that came alone: some servers send a finish with each chunk. */
  private isFinishEarly = false;
  /** True once a second chunk with content has a finish: the server sends one with each chunk, an empty one too. */
  private finishesEachChunk = false;
  /** True when the chunk has content. */
  private isContentChunk = false;
  private hasContent = false;
  private hasDeltas = false;
  private readonly calls: ToolCallAssembler;
  private readonly thinkTags: ThinkTags | undefined;
  private readonly textChunks = new TextChunkTemplate();

  constructor(private readonly call: UpstreamCall) {
    this.calls = new ToolCallAssembler(call.request.tools);
    this.thinkTags = findThinkTags(call.capabilities);
  }

  get usageSoFar(): Usage | undefined {
    return this.usage;
  }

  get hasFinish(): boolean {
    const { finishReason: reason } = this;
    if (reason === undefined || this.isFinishEarly) return false;
    // A server that sends a finish with its first chunk sends a natural one.
    const isCut = reason === 'length' || reason === 'content-filter';
    return isCut || this.hasContent || this.calls.count > 0 || this.usage !== undefined;
  }

  push(payload: string, events: StreamEvent[]): void {
    if (this.done) return;
    const text = this.textChunks.match(payload);
    if (text !== undefined) this.readTemplate(text, events);
    else if (payload.charCodeAt(0) === 0x5b && payload.trim() === '[DONE]') this.finish(events, true);
    else this.readChunks(payload, events);
  }

  end(events: StreamEvent[]): void {
    if (!this.done) this.finish(events, false);
  }

  /** Reads one chunk, or a plain reply. */
  read(chunk: Json, events: StreamEvent[]): void {
    const { choices } = chunk;
    this.call.onReply?.(chunk);
    if (!Array.isArray(choices) || chunk.error || chunk.object === 'error') {
      const failure = findError(chunk, this.call);
      if (failure !== undefined) throw failure;
    }
    if (typeof chunk.service_tier === 'string') this.tier = servedTier(chunk.service_tier);
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    if (isObject(choice) && !choice.index) this.readChoice(choice, events); // only one choice is ever requested
    if (chunk.usage) this.readUsage(chunk.usage);
  }

  /** Ends the reply. `complete`: the upstream has sent its end marker. */
  finish(events: StreamEvent[], complete: boolean): void {
    this.thinkTags?.end(events);
    const reason = this.finishReason ?? (complete && (this.hasContent || this.calls.count > 0) ? 'stop' : undefined);
    if (reason === undefined) {
      const detail = complete ? 'empty reply' : 'stream ended without a finish reason';
      throw new UpstreamFailure('broken', 'upstream_error', { detail });
    }
    endReply(this.calls, this.usage, reason, events);
    this.done = true;
  }

  private readChunks(payload: string, events: StreamEvent[]): void {
    const chunks = payload === '' ? [] : parseEvents(payload);
    for (const chunk of chunks) this.read(chunk, events);
    const text = chunks.length === 1 && this.thinkTags === undefined ? textAlone(chunks[0] as Json) : undefined;
    if (text !== undefined) this.textChunks.learn(payload, text);
  }

  private readChoice(choice: Json, events: StreamEvent[]): void {
    const failure = choice.error ? findError({ error: choice.error }, this.call) : undefined;
    if (failure !== undefined) throw failure;
    if (choice.usage) this.readUsage(choice.usage); // Moonshot
    const delta = choice.delta ?? (this.hasDeltas ? undefined : choice.message);
    this.isContentChunk = false;
    if (isObject(delta)) this.readDelta(delta, events);
    const reason = parseFinishReason(choice, this.call);
    if (reason !== undefined) {
      if (this.isContentChunk) this.finishesEachChunk ||= this.finishReason !== undefined;
      else this.isFinishEarly &&= this.finishesEachChunk;
    }
    this.finishReason = worseReason(this.finishReason, reason);
  }

  private readDelta(delta: Json, events: StreamEvent[]): void {
    const before = events.length;
    const { content } = delta;
    const reasoning = readReasoning(delta);
    if (reasoning !== '') events.push({ type: 'reasoning-delta', text: reasoning });
    if (typeof content === 'string') {
      if (content !== '') this.readText(content, events);
    } else if (Array.isArray(content)) {
      for (const part of content) this.readPart(part, events);
    }
    if (typeof delta.refusal === 'string' && delta.refusal !== '') events.push({ type: 'refusal-delta', text: delta.refusal });
    if (Array.isArray(delta.tool_calls)) {
      for (const piece of delta.tool_calls) this.readToolCall(piece, delta.tool_calls.length > 1, events);
    } else if (isObject(delta.function_call)) {
      this.readToolCall({ index: 0, function: delta.function_call }, false, events);
    }
    if (events.length > before || this.calls.count > 0) this.hasDeltas = true;
    if (events.length > before) this.addedContent();
  }

  private readText(text: string, events: StreamEvent[]): void {
    if (this.thinkTags !== undefined) {
      this.addedContent();
      this.hasDeltas = true;
      this.thinkTags.push(text, events);
    } else {
      events.push({ type: 'text-delta', text });
    }
  }

  /** Reads a content part: `text`, or `thinking` with parts of its own (Mistral). */
  private readPart(part: unknown, events: StreamEvent[]): void {
    if (!isObject(part)) return;
    if (typeof part.text === 'string' && part.text !== '') this.readText(part.text, events);
    const thinking = Array.isArray(part.thinking) ? joinTexts(part.thinking) : part.thinking;
    if (typeof thinking === 'string' && thinking !== '') events.push({ type: 'reasoning-delta', text: thinking });
  }

  private readToolCall(piece: unknown, amongOthers: boolean, events: StreamEvent[]): void {
    if (!isObject(piece)) return;
    this.isContentChunk = true;
    this.isFinishEarly ||= this.finishReason !== undefined;
    const inner = isObject(piece.function) ? piece.function : {};
    this.calls.push(
      {
        index: readIndex(piece.index),
        id: typeof piece.id === 'string' && piece.id !== '' ? piece.id : undefined,
        name: typeof inner.name === 'string' && inner.name !== '' ? inner.name : undefined,
        argumentsText: renderArguments(inner.arguments),
        whole: typeof inner.arguments !== 'string',
        amongOthers,
      },
      events,
    );
  }

  private readTemplate(text: string, events: StreamEvent[]): void {
    events.push({ type: 'text-delta', text });
    this.isFinishEarly = this.finishReason !== undefined;
  }

  private addedContent(): void {
    this.hasContent = true;
    this.isContentChunk = true;
    this.isFinishEarly = this.finishReason !== undefined;
  }

  private readUsage(usage: unknown): void {
    this.usage = parseUsage(usage, this.call, this.tier) ?? this.usage; // the last counts, never the sum
  }
}

/** Returns the text of a chunk that carries nothing else; undefined for any other. */
function textAlone({ choices, usage, error }: Json): string | undefined {
  const choice: unknown = Array.isArray(choices) && choices.length === 1 ? choices[0] : undefined;
  if (!isObject(choice) || choice.index || choice.finish_reason || choice.error || choice.usage || usage || error) return undefined;
  const { delta } = choice;
  if (!isObject(delta) || typeof delta.content !== 'string' || delta.content === '') return undefined;
  const saysMore = Object.keys(delta).some((key) => key !== 'content' && key !== 'role' && !isNothing(delta[key]));
  return saysMore ? undefined : delta.content;
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);
}

/** Returns the index of a call, which some servers send in digits. */
function readIndex(value: unknown): number | undefined {
  const index = typeof value === 'string' && /^\d{1,6}$/.test(value) ? Number(value) : value;
  return typeof index === 'number' ? index : undefined;
}

/** Reads one of the fields in use: some servers send the same reasoning in two. */
function readReasoning(delta: Json): string {
  const { reasoning_content: content, reasoning, reasoning_details: details } = delta;
  if (typeof content === 'string' && content !== '') return content;
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning;
  return Array.isArray(details) ? joinTexts(details) : '';
}

function joinTexts(parts: unknown[]): string {
  return parts
    .map((part) => (isObject(part) ? (part.text ?? part.summary) : undefined))
    .filter((text) => typeof text === 'string')
    .join('');
}
