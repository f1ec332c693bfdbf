import type { GatewayError } from '#inference/errors.js';
import { type FinishReason, isContent, type StreamEvent } from '#inference/stream-event.js';
import { NO_USAGE } from '#inference/usage.js';
import type { ReplyContext, ReplyOptions, ShownUsage, StreamRenderer } from '../protocol-adapter.js';
import { safeCallId } from '../tool-calls/call-ids.js';
import { type ToolCallEvent, ToolCallSequencer } from '../tool-calls/tool-call-sequencer.js';
import { ToolInput } from '../tool-calls/tool-input.js';
import { renderError } from './errors.js';
import { renderStopReason } from './finish-reason.js';
import type { MessagesRequest } from './request.js';
import { renderMessage } from './response.js';
import { renderUsage } from './usage.js';

/** Renders a streamed reply as named events. */
export function renderStream(reply: ReplyContext, { showThinking }: ReplyOptions<MessagesRequest>): StreamRenderer {
  return new MessageStream(reply, showThinking);
}

type BlockKind = 'thinking' | 'text' | 'tool_use';

const EMPTY_BLOCKS = { thinking: { type: 'thinking', thinking: '', signature: '' }, text: { type: 'text', text: '' } };
/** Start of a delta of each kind, before its text. */
const DELTAS = {
  thinking: '{"type":"thinking_delta","thinking":',
  text: '{"type":"text_delta","text":',
  tool_use: '{"type":"input_json_delta","partial_json":',
} satisfies Record<BlockKind, string>;

const PING = frame('ping', '{"type":"ping"}');
const STOP = frame('message_stop', '{"type":"message_stop"}');

/** Milliseconds after which a keep-alive is more than a ping: clients give up after 300 s of pings alone. */
const VISIBLE_EVENT_AFTER_MS = 60_000;

/** Renders one block after another. A block opens with its first content and closes before the next one opens. */
class MessageStream implements StreamRenderer {
  private readonly sequencer = new ToolCallSequencer();
  private opened = false;
  private block: BlockKind | undefined;
  private index = -1;
  /** Constant start of each delta of the open block. */
  private deltaStart = '';
  private input = new ToolInput();
  /** True once text or a call has begun. Later reasoning is not shown. */
  private answering = false;
  private hasToolCalls = false;
  private hasRefusal = false;
  private trailingText = '';
  /** Milliseconds since the last event other than a ping. */
  private silentMs = 0;

  constructor(
    private readonly reply: ReplyContext,
    private readonly showThinking: boolean,
  ) {}

  /** Opens the message with the first content, even if that is hidden: from then on the reply is billed. */
  render(batch: readonly StreamEvent[]): string {
    let frames = batch.some(isContent) ? this.open() : '';
    for (const event of batch) frames += this.renderEvent(event);
    if (frames !== '') this.silentMs = 0;
    return frames;
  }

  finish(reason: FinishReason, usage: ShownUsage): string {
    let frames = this.open();
    if (this.trailingText !== '') frames += this.renderDelta('text', this.trailingText);
    frames += this.closeBlock();
    const delta = { stop_reason: renderStopReason(reason, this.hasToolCalls, this.hasRefusal), stop_sequence: null };
    return frames + frame('message_delta', JSON.stringify({ type: 'message_delta', delta, usage: renderUsage(usage) })) + STOP;
  }

  /** Renders an error as the last event. Open blocks stay open, because the reply is incomplete. */
  fail(error: GatewayError): string {
    return frame('error', renderError(error, this.reply.requestId));
  }

  /**
   * Renders a ping, and every 60 s an event that clients see: an empty delta. If no block is open, it opens the block that most likely
   * comes next.
   */
  keepAlive(silentMs: number): string {
    if (!this.opened) return this.open();
    this.silentMs += silentMs;
    if (this.silentMs < VISIBLE_EVENT_AFTER_MS) return PING;
    this.silentMs = 0;
    return PING + this.renderDelta(this.block ?? (this.showThinking && !this.answering ? 'thinking' : 'text'), '');
  }

  private renderEvent(event: StreamEvent): string {
    switch (event.type) {
      case 'text-delta':
        return this.renderText(event.text);
      case 'refusal-delta':
        this.hasRefusal = true;
        return this.renderText(event.text);
      case 'reasoning-delta':
        return this.showThinking && !this.answering ? this.renderDelta('thinking', event.text) : '';
      case 'tool-call-start':
      case 'tool-call-delta':
      case 'tool-call-end':
        this.answering = true;
        this.hasToolCalls = true;
        return this.renderCallEvents(this.sequencer.next(event));
      case 'upstream-start':
      case 'embedding-delta':
      case 'usage-report':
      case 'settlement-deferred':
      case 'attempts-report':
      case 'completion-finish':
      case 'completion-failure':
        return '';
    }
  }

  /** Delays text after a call until the end, because calls must precede it and more may follow. */
  private renderText(text: string): string {
    this.answering = true;
    if (!this.hasToolCalls) return this.renderDelta('text', text);
    this.trailingText += text;
    return '';
  }

  private renderCallEvents(events: readonly ToolCallEvent[]): string {
    let frames = '';
    for (const event of events) frames += this.renderCallEvent(event);
    return frames;
  }

  private renderCallEvent(event: ToolCallEvent): string {
    switch (event.type) {
      case 'tool-call-start':
        this.input = new ToolInput();
        return this.openBlock('tool_use', { type: 'tool_use', id: safeCallId(event.callId), name: event.tool.name, input: {} });
      case 'tool-call-delta': {
        const text = this.input.push(event.text);
        return text === '' ? '' : this.renderDelta('tool_use', text);
      }
      case 'tool-call-end':
        return this.renderDelta('tool_use', this.input.end()) + this.closeBlock();
    }
  }

  /** Opens the message, whose usage is not known yet, and sends the first ping. */
  private open(): string {
    if (this.opened) return '';
    this.opened = true;
    const message = renderMessage(this.reply, [], null, renderUsage(NO_USAGE));
    return frame('message_start', `{"type":"message_start","message":${message}}`) + PING;
  }

  /** Renders a delta. The first delta of a text or thinking block opens it. */
  private renderDelta(kind: BlockKind, text: string): string {
    const start = kind === this.block || kind === 'tool_use' ? '' : this.openBlock(kind, EMPTY_BLOCKS[kind]);
    return `${start}${this.deltaStart}${JSON.stringify(text)}}}\n\n`;
  }

  private openBlock(kind: BlockKind, block: object): string {
    const close = this.closeBlock();
    this.block = kind;
    this.index++;
    this.deltaStart = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.index},"delta":${DELTAS[kind]}`;
    const start = JSON.stringify({ type: 'content_block_start', index: this.index, content_block: block });
    return close + frame('content_block_start', start);
  }

  private closeBlock(): string {
    if (this.block === undefined) return '';
    this.block = undefined;
    return frame('content_block_stop', `{"type":"content_block_stop","index":${this.index}}`);
  }
}

function frame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}
