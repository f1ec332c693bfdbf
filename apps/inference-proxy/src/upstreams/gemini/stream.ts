import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { isObject, parseEvents, toObject } from '../replies/json-object.js';
import { OpenReply, readWord } from '../replies/open-reply.js';
import { RepeatedCalls } from '../replies/repeated-calls.js';
import { renderArguments } from '../replies/reply-limits.js';
import type { StreamParser, UpstreamCall } from '../upstream-adapter.js';
import { findError } from './errors.js';
import { parseFeedback, parseFinishReason } from './finish-reason.js';
import { UsageCounter } from './usage.js';

type Json = Record<string, unknown>;

/**
 * Parses a stream of `GenerateContentResponse` chunks. It has no end marker: it closes after the chunk with the finish reason. Parts that
 * are neither text nor a call, such as images and the code of the server's own tools, are dropped.
 */
export class GeminiStreamParser implements StreamParser {
  done = false;
  private callPieces = 0;
  private readonly counter: UsageCounter;
  private readonly reply: OpenReply;
  private readonly repeated = new RepeatedCalls();

  constructor(private readonly call: UpstreamCall) {
    this.counter = new UsageCounter(call);
    this.reply = new OpenReply(call);
  }

  get usageSoFar(): Usage | undefined {
    return this.counter.usage;
  }

  get hasFinish(): boolean {
    return this.reply.hasFinish;
  }

  get finishReason(): FinishReason | undefined {
    return this.reply.finishReason;
  }

  push(payload: string, events: StreamEvent[]): void {
    if (this.done || payload === '') return;
    if (payload.charCodeAt(0) === 0x5b && payload.trim() === '[DONE]') this.finish(events, true);
    else for (const chunk of parseEvents(payload)) this.read(chunk, events);
  }

  end(events: StreamEvent[]): void {
    if (!this.done) this.finish(events, false);
  }

  /** Reads one chunk, or a plain reply. */
  read(chunk: Json, events: StreamEvent[]): void {
    const { responseId: id, modelVersion: model, usageMetadata, promptFeedback, candidates } = chunk;
    this.call.onReply?.({ id, model });
    const failure = findError(chunk, this.call);
    if (failure !== undefined) throw failure;
    this.counter.read(usageMetadata);
    this.reply.readFinish(parseFeedback(promptFeedback));
    const candidate: unknown = Array.isArray(candidates) ? candidates[0] : undefined;
    if (isObject(candidate) && !candidate.index) this.readCandidate(candidate, events); // only one candidate is ever requested
  }

  /** Ends the reply. `complete`: the upstream has sent an end marker, or the whole reply at once. */
  finish(events: StreamEvent[], complete: boolean): void {
    this.reply.end(this.counter.usage, complete, events);
    this.done = true;
  }

  private readCandidate({ content, finishReason }: Json, events: StreamEvent[]): void {
    const { parts } = toObject(content);
    if (Array.isArray(parts)) for (const part of parts) if (isObject(part)) this.readPart(part, events);
    this.reply.readFinish(parseFinishReason(finishReason, this.call));
  }

  private readPart({ text, thought, functionCall, thoughtSignature: signature }: Json, events: StreamEvent[]): void {
    if (isObject(functionCall)) this.readCall(functionCall, typeof signature === 'string' ? signature : undefined, events);
    if (typeof text === 'string') this.reply.pushText(thought === true ? 'reasoning-delta' : 'text-delta', text, events);
  }

  /** Each call comes whole, and often without an id. */
  private readCall({ id, name, args = {} }: Json, signature: string | undefined, events: StreamEvent[]): void {
    const index = this.repeated.indexOf({ id, name, input: args }, this.callPieces++);
    const argumentsText = renderArguments(args);
    this.reply.pushCall({ index, id: readWord(id), name: readWord(name), argumentsText, whole: true, signature }, events);
    this.reply.endCall(index, events);
  }
}
