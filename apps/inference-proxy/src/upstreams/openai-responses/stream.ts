import { estimateBytes } from '#inference/estimate-tokens.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { servedTier } from '#inference/usage.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { endReply } from '../replies/end-reply.js';
import { isObject, parseEvents } from '../replies/json-object.js';
import { HELD_LENGTH_MAX, ITEMS_MAX, overLimit, renderArguments } from '../replies/reply-limits.js';
import { findThinkTags, type ThinkTags } from '../replies/think-tags.js';
import { ToolCallAssembler } from '../replies/tool-call-assembler.js';
import type { StreamParser, UpstreamCall } from '../upstream-adapter.js';
import { findError } from './errors.js';
import { parseFinishReason, worseStatus } from './finish-reason.js';
import { type OutputItem, OutputItems, strayNumbers } from './output-items.js';
import { parseUsage } from './usage.js';

type Json = Record<string, unknown>;

/** Kind of text in the output. */
type Channel = 'text' | 'refusal' | 'summary' | 'reasoning' | 'arguments' | 'input';

/** Events that carry text: a delta in `delta`, or the whole text in the field that `whole` names. */
const PIECES: ReadonlyMap<unknown, { channel: Channel; whole?: string }> = new Map(
  Object.entries<{ channel: Channel; whole?: string }>({
    'response.output_text.delta': { channel: 'text' },
    'response.output_text.done': { channel: 'text', whole: 'text' },
    'response.refusal.delta': { channel: 'refusal' },
    'response.refusal.done': { channel: 'refusal', whole: 'refusal' },
    'response.reasoning_summary_text.delta': { channel: 'summary' },
    'response.reasoning_summary_text.done': { channel: 'summary', whole: 'text' },
    'response.reasoning_text.delta': { channel: 'reasoning' },
    'response.reasoning_text.done': { channel: 'reasoning', whole: 'text' },
    'response.function_call_arguments.delta': { channel: 'arguments' },
    'response.function_call_arguments.done': { channel: 'arguments', whole: 'arguments' },
    'response.custom_tool_call_input.delta': { channel: 'input' },
    'response.custom_tool_call_input.done': { channel: 'input', whole: 'input' },
  }),
);

/**
 * Parses a stream of response events. The dialect sends each text up to four times: in deltas, at its own end, at the end of its item and
 * in the final response. Servers omit any of these, so each time only what is new is passed on. Only a terminal event ends the stream.
 */
export class ResponsesStreamParser implements StreamParser {
  done = false;
  tier: string | undefined;
  private readonly items = new OutputItems();
  private readonly calls: ToolCallAssembler;
  private readonly thinkTags: ThinkTags | undefined;
  private reasoningChannel: Channel | undefined;
  private saidLength = 0;

  constructor(private readonly call: UpstreamCall) {
    this.calls = new ToolCallAssembler(call.request.tools);
    this.thinkTags = findThinkTags(call.capabilities);
  }

  push(payload: string, events: StreamEvent[]): void {
    if (this.done || payload === '' || payload === '[DONE]') return;
    for (const event of parseEvents(payload)) if (!this.done) this.read(event, events);
  }

  end(): void {
    if (!this.done) throw new UpstreamFailure('broken', 'upstream_error', { detail: 'stream ended without its terminal event' });
  }

  /** Reads the final response of a terminal event or a plain reply: new text, usage and end. */
  finish(response: Json, events: StreamEvent[], status = response.status): void {
    this.call.onReply?.(response);
    if (response.error) this.fail(response);
    const reason =
      parseFinishReason(status, response.incomplete_details, this.call) ?? this.fail(response, 'the response did not complete');
    this.readTier(response);
    const usage = parseUsage(response.usage, this.call, this.tier);
    const output = toList(response.output);
    if (output.length > ITEMS_MAX) throw overLimit('items');
    for (const [index, wire] of output.entries()) {
      const item = isObject(wire) ? this.items.findAgain(wire, index) : undefined;
      if (isObject(wire) && item !== undefined) this.readItem(item, wire, events);
    }
    this.thinkTags?.end(events);
    endReply(this.calls, usage, reason, events);
    this.done = true;
  }

  private readTier(response: Json): void {
    if (typeof response.service_tier === 'string') this.tier = servedTier(response.service_tier);
  }

  private read(event: Json, events: StreamEvent[]): void {
    if (event.error) this.fail(event);
    const piece = PIECES.get(event.type);
    if (piece !== undefined) {
      this.readPiece(piece, event, events);
      return;
    }
    if (isObject(event.response)) {
      this.call.onReply?.(event.response);
      this.readTier(event.response);
    }
    switch (event.type) {
      case 'response.output_item.added':
        if (isObject(event.item)) this.name(this.items.add(event.item, event.output_index), event.item, events);
        return;
      case 'response.output_item.done':
        if (isObject(event.item)) {
          const item = this.items.find(event.item.id, event.output_index, event.item);
          if (!item.isDone) this.readItem(item, event.item, events);
          item.isDone = true;
        }
        return;
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled': {
        const response = isObject(event.response) ? event.response : event;
        this.finish(response, events, worseStatus(event.type.slice('response.'.length), response.status));
        return;
      }
      default: {
        const failure = findError(event, this.call);
        if (failure !== undefined) throw failure;
        // Some servers send the response itself as the only event.
        if (event.object === 'response' && Array.isArray(event.output)) this.finish(event, events);
      }
    }
  }

  private readPiece({ channel, whole }: { channel: Channel; whole?: string }, event: Json, events: StreamEvent[]): void {
    const item = this.items.find(event.item_id, event.output_index);
    const part = channel === 'summary' ? event.summary_index : event.content_index;
    this.say(item, channel, part, whole === undefined ? event.delta : event[whole], whole !== undefined, events);
  }

  /** Reads a complete item and passes on what is new. */
  private readItem(item: OutputItem, wire: Json, events: StreamEvent[]): void {
    switch (wire.type) {
      case 'message':
        this.readParts(item, wire.content, events, (part) =>
          part.type === 'refusal' ? { channel: 'refusal', text: part.refusal } : { channel: 'text', text: part.text },
        );
        return;
      case 'reasoning':
        this.readParts(item, wire.summary, events, ({ text }) => ({ channel: 'summary', text }));
        this.readParts(item, wire.content, events, ({ text }) => ({ channel: 'reasoning', text }));
        return;
      case 'function_call':
      case 'custom_tool_call': {
        this.name(item, wire, events);
        const custom = wire.type === 'custom_tool_call';
        this.say(item, custom ? 'input' : 'arguments', 0, custom ? wire.input : wire.arguments, true, events);
        if (item.callIndex !== undefined) this.calls.endAt(item.callIndex, events);
      }
    }
  }

  private readParts(
    item: OutputItem,
    wire: unknown,
    events: StreamEvent[],
    read: (part: Json) => { channel: Channel; text: unknown },
  ): void {
    const parts = toList(wire);
    let strays: Map<string, number> | undefined;
    for (const [index, part] of parts.entries()) {
      if (!isObject(part)) continue;
      const { channel, text } = read(part);
      const isKnown = item.said.has(`${channel} ${index}`);
      if (!isKnown) strays ??= strayNumbers(item, parts.length);
      this.say(item, channel, isKnown ? index : (strays?.get(channel) ?? index), text, true, events);
    }
  }

  /** Passes id and name of a call to the assembler, once, as soon as they are known. */
  private name(item: OutputItem, wire: Json, events: StreamEvent[]): void {
    const custom = wire.type === 'custom_tool_call';
    if ((wire.type !== 'function_call' && !custom) || item.isNamed) return;
    const id = [wire.call_id, wire.id].find((value) => typeof value === 'string' && value !== '') as string | undefined;
    const name = typeof wire.name === 'string' && wire.name !== '' ? wire.name : undefined;
    item.isNamed = name !== undefined;
    item.callIndex ??= this.calls.count;
    this.calls.push({ index: item.callIndex, id, name, raw: custom }, events);
  }

  /** Passes on a delta or, of a whole text, the part that is new. */
  private say(item: OutputItem, channel: Channel, part: unknown, value: unknown, isWhole: boolean, events: StreamEvent[]): void {
    if (channel === 'arguments' || channel === 'input') {
      this.sayArguments(item, channel, value, isWhole, events);
      return;
    }
    if (typeof value !== 'string') return;
    const key = `${channel} ${typeof part === 'number' ? part : 0}`;
    const said = item.said.get(key) ?? '';
    const piece = isWhole ? (value.startsWith(said) ? value.slice(said.length) : '') : value;
    if (piece === '') return;
    this.remember(item, key, said, piece);
    switch (channel) {
      case 'text':
        if (this.thinkTags === undefined) events.push({ type: 'text-delta', text: piece });
        else this.thinkTags.push(piece, events);
        return;
      case 'refusal':
        events.push({ type: 'refusal-delta', text: piece });
        return;
      case 'summary':
      case 'reasoning':
        this.sayReasoning(channel, said === '', piece, events);
    }
  }

  private sayArguments(item: OutputItem, channel: 'arguments' | 'input', value: unknown, isWhole: boolean, events: StreamEvent[]): void {
    const argumentsText = renderArguments(value);
    if (argumentsText === undefined || argumentsText === '') return;
    item.callIndex ??= this.calls.count;
    const whole = isWhole || typeof value !== 'string';
    this.calls.push({ index: item.callIndex, argumentsText, whole, raw: channel === 'input' }, events);
  }

  private remember(item: OutputItem, key: string, said: string, piece: string): void {
    if (said === '' && item.said.size >= ITEMS_MAX) throw overLimit('parts of an item');
    this.saidLength += piece.length;
    // The shaper cuts a reply long before this, so the rest is text that is never passed on.
    if (this.saidLength > HELD_LENGTH_MAX + estimateBytes(4 * this.call.outputTokensMax)) throw overLimit('text');
    item.said.set(key, said + piece);
  }

  /** Passes on reasoning or its summary, never both, with its parts as paragraphs. */
  private sayReasoning(channel: Channel, isNewPart: boolean, piece: string, events: StreamEvent[]): void {
    const isFirst = this.reasoningChannel === undefined;
    this.reasoningChannel ??= channel;
    if (this.reasoningChannel === channel) events.push({ type: 'reasoning-delta', text: isNewPart && !isFirst ? `\n\n${piece}` : piece });
  }

  private fail(body: Json, detail = 'the upstream reported an error'): never {
    throw findError(body, this.call) ?? new UpstreamFailure('broken', 'upstream_error', { detail });
  }
}

function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
