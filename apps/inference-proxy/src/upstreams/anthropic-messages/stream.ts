import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { isObject, parseEvents } from '../replies/json-object.js';
import { OpenReply, readWord } from '../replies/open-reply.js';
import { RepeatedCalls } from '../replies/repeated-calls.js';
import { ITEMS_MAX, overLimit, renderArguments } from '../replies/reply-limits.js';
import type { StreamParser, UpstreamCall } from '../upstream-adapter.js';
import { BlockText } from './block-text.js';
import { findError } from './errors.js';
import { parseFinishReason } from './finish-reason.js';
import { UsageCounter } from './usage.js';

type Json = Record<string, unknown>;
type TextEvent = Extract<StreamEvent, { type: 'text-delta' | 'reasoning-delta' }>;

/** Blocks of text, which stands in a field of the block's name. */
const TEXT_BLOCKS: ReadonlyMap<unknown, TextEvent['type']> = new Map([
  ['text', 'text-delta'],
  ['thinking', 'reasoning-delta'],
]);

/**
 * Parses a stream of message events. It ends with `message_stop`, or by closing after a `stop_reason`. Pings, signatures, citations and
 * unknown events are ignored.
 */
export class MessagesStreamParser implements StreamParser {
  done = false;
  private readonly counter: UsageCounter;
  private readonly reply: OpenReply;
  /** The text of the last block that has begun. */
  private readonly blockText = new BlockText();
  private textType: TextEvent['type'] = 'text-delta';
  /** Indexes of blocks that are ignored, such as tools that the server runs itself: their deltas look like those of our tool calls. */
  private readonly ignored = new Set<number>();

  constructor(private readonly call: UpstreamCall) {
    this.counter = new UsageCounter(call.capabilities.cachedApart, call.capabilities.promptCache === '1h');
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
    if (this.done || payload.trim() === '' || payload.trim() === '[DONE]') return;
    for (const event of parseEvents(payload)) if (!this.done) this.read(event, events);
  }

  end(events: StreamEvent[]): void {
    if (!this.done) this.finish(events, false);
  }

  read(event: Json, events: StreamEvent[]): void {
    const index = typeof event.index === 'number' ? event.index : 0;
    const failure = findError(event, this.call);
    if (failure !== undefined) throw failure;
    switch (event.type) {
      case 'message_start':
        if (isObject(event.message)) {
          this.call.onReply?.(event.message);
          this.counter.readStart(event.message.usage);
        }
        return;
      case 'content_block_start':
        if (isObject(event.content_block)) this.startBlock(event.content_block, index, events);
        return;
      case 'content_block_delta':
        if (isObject(event.delta)) this.readDelta(event.delta, index, events);
        return;
      case 'content_block_stop':
        this.endText(events);
        this.ignored.delete(index);
        this.reply.endCall(index, events);
        return;
      case 'message_delta':
        this.counter.read(event.usage);
        if (isObject(event.delta)) this.reply.readFinish(parseFinishReason(event.delta.stop_reason, this.call));
        return;
      case 'message_stop':
        this.finish(events, true);
        return;
      case 'message': // the whole reply as the only event
        if (Array.isArray(event.content)) this.readMessage(event, event.content, events);
    }
  }

  /** Reads a whole message as the stream that would have built it. */
  readMessage(message: Json, content: readonly unknown[], events: StreamEvent[]): void {
    this.call.onReply?.(message);
    const repeated = new RepeatedCalls();
    for (const [position, block] of content.entries()) {
      const index = isObject(block) && block.type === 'tool_use' ? repeated.indexOf(block, position) : position;
      this.read({ type: 'content_block_start', index, content_block: block }, events);
      this.read({ type: 'content_block_stop', index }, events);
    }
    this.read({ type: 'message_delta', delta: message, usage: message.usage }, events);
    this.finish(events, true);
  }

  /** Ends the reply. `complete`: the upstream has sent its end marker. */
  finish(events: StreamEvent[], complete: boolean): void {
    this.endText(events);
    this.reply.end(this.counter.usage, complete, events);
    this.done = true;
  }

  private startBlock(block: Json, index: number, events: StreamEvent[]): void {
    this.endText(events);
    this.ignored.delete(index);
    const type = TEXT_BLOCKS.get(block.type);
    if (type !== undefined) this.append(type, this.blockText.start(toText(block[block.type as string])), events);
    else if (block.type === 'tool_use') {
      const { id, name, input } = block;
      this.reply.pushCall({ index, id: readWord(id), name: readWord(name), argumentsText: renderArguments(input), whole: true }, events);
    } else {
      if (this.ignored.size >= ITEMS_MAX) throw overLimit('blocks');
      this.ignored.add(index);
    }
  }

  private readDelta(delta: Json, index: number, events: StreamEvent[]): void {
    if (this.ignored.has(index)) return;
    if (delta.type === 'text_delta') this.append('text-delta', this.blockText.push(toText(delta.text)), events);
    else if (delta.type === 'thinking_delta') this.append('reasoning-delta', this.blockText.push(toText(delta.thinking)), events);
    else if (delta.type === 'input_json_delta') {
      const { partial_json: json } = delta;
      this.reply.pushCall({ index, argumentsText: renderArguments(json), whole: typeof json !== 'string' }, events);
    }
  }

  private endText(events: StreamEvent[]): void {
    this.append(this.textType, this.blockText.end(), events);
  }

  private append(type: TextEvent['type'], text: string, events: StreamEvent[]): void {
    this.textType = type;
    this.reply.pushText(type, text, events);
  }
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
