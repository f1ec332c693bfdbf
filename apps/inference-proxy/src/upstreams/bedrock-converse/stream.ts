import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { isObject, parseEvents, toObject } from '../replies/json-object.js';
import { OpenReply, readWord } from '../replies/open-reply.js';
import { RepeatedCalls } from '../replies/repeated-calls.js';
import { renderArguments } from '../replies/reply-limits.js';
import type { StreamParser, UpstreamCall } from '../upstream-adapter.js';
import { findError } from './errors.js';
import { parseFinishReason } from './finish-reason.js';
import { parseUsage } from './usage.js';

type Json = Record<string, unknown>;

/**
 * Parses a stream of events, each an object with one field of the event's name. It ends with the usage behind the stop reason.
 * Signatures, citations and blocks that are neither text nor a call are dropped.
 */
export class ConverseStreamParser implements StreamParser {
  done = false;
  usageSoFar: Usage | undefined;
  private readonly reply: OpenReply;

  constructor(private readonly call: UpstreamCall) {
    this.reply = new OpenReply(call);
  }

  get hasFinish(): boolean {
    return this.reply.hasFinish;
  }

  get finishReason(): FinishReason | undefined {
    return this.reply.finishReason;
  }

  push(payload: string, events: StreamEvent[]): void {
    if (this.done || payload.trim() === '') return;
    if (payload.trim() === '[DONE]') this.finish(events, true);
    else for (const event of parseEvents(payload)) if (!this.done) this.read(event, events);
  }

  end(events: StreamEvent[]): void {
    if (!this.done) this.finish(events, false);
  }

  /** Reads a whole reply. */
  readReply(reply: Json, content: readonly unknown[], events: StreamEvent[]): void {
    const repeated = new RepeatedCalls();
    for (const [position, block] of content.filter(isObject).entries()) {
      const { text, toolUse, reasoningContent } = block;
      this.readText('text-delta', text, events);
      this.readText('reasoning-delta', toObject(toObject(reasoningContent).reasoningText).text, events);
      if (!isObject(toolUse)) continue;
      const { toolUseId: id, name, input } = toolUse;
      const index = repeated.indexOf({ id, name, input }, position);
      this.reply.pushCall({ index, id: readWord(id), name: readWord(name), argumentsText: renderArguments(input), whole: true }, events);
      this.reply.endCall(index, events);
    }
    this.reply.readFinish(parseFinishReason(reply.stopReason, this.call));
    this.usageSoFar = parseUsage(reply, this.call);
    this.finish(events, true);
  }

  private read(event: Json, events: StreamEvent[]): void {
    const failure = findError(event, this.call);
    if (failure !== undefined) throw failure;
    const content = findContent(event);
    if (content === undefined) this.readEvent(event, events);
    else this.readReply(event, content, events); // the whole reply as the only event
  }

  private readEvent(event: Json, events: StreamEvent[]): void {
    const { contentBlockStart: start, contentBlockDelta: delta, contentBlockStop: stop, messageStop, metadata } = event;
    if (isObject(start)) this.startCall(start, events);
    if (isObject(delta)) this.readDelta(delta, events);
    if (isObject(stop)) this.reply.endCall(readIndex(stop), events);
    if (isObject(messageStop)) this.reply.readFinish(parseFinishReason(messageStop.stopReason, this.call));
    if (!isObject(metadata)) return;
    this.usageSoFar = parseUsage(metadata, this.call) ?? this.usageSoFar;
    if (this.hasFinish && this.usageSoFar !== undefined) this.finish(events, true);
  }

  private startCall(block: Json, events: StreamEvent[]): void {
    const { toolUse } = toObject(block.start);
    if (!isObject(toolUse)) return;
    this.reply.pushCall({ index: readIndex(block), id: readWord(toolUse.toolUseId), name: readWord(toolUse.name) }, events);
  }

  private readDelta(block: Json, events: StreamEvent[]): void {
    const { text, toolUse, reasoningContent } = toObject(block.delta);
    this.readText('text-delta', text, events);
    this.readText('reasoning-delta', toObject(reasoningContent).text, events);
    if (!isObject(toolUse)) return;
    const { input } = toolUse;
    const piece = { index: readIndex(block), argumentsText: renderArguments(input), whole: typeof input !== 'string' };
    this.reply.pushCall(piece, events);
  }

  private readText(type: 'text-delta' | 'reasoning-delta', text: unknown, events: StreamEvent[]): void {
    if (typeof text === 'string') this.reply.pushText(type, text, events);
  }

  /** `isWhole`: the upstream has sent all of the reply. */
  private finish(events: StreamEvent[], isWhole: boolean): void {
    this.reply.end(this.usageSoFar, isWhole, events);
    this.done = true;
  }
}

/** Returns the blocks of a whole reply; undefined for anything else. */
export function findContent({ output }: Json): readonly unknown[] | undefined {
  const { content } = toObject(toObject(output).message);
  return Array.isArray(content) ? content : undefined;
}

function readIndex({ contentBlockIndex: index }: Json): number {
  return typeof index === 'number' ? index : 0;
}
