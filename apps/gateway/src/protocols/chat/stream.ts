import type { GatewayError } from '#inference/errors.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { ReplyContext, ReplyOptions, StreamRenderer } from '../protocol-adapter.js';
import { type ToolCallEvent, ToolCallSequencer } from '../tool-calls/tool-call-sequencer.js';
import { renderError } from './errors.js';
import { renderFinishReason } from './finish-reason.js';
import type { ChatRequest } from './request.js';
import { isContentNull, renderId } from './response.js';
import { renderUsage } from './usage.js';

/** A streamed reply as `data:` chunks (spec 2.4 and 6.3, C-30 to C-35). */
export function renderStream(reply: ReplyContext, parsed: ReplyOptions<ChatRequest>): StreamRenderer {
  return new ChatStream(reply, parsed.includeUsage);
}

const CHOICE_END = '},"finish_reason":null}]}\n\n';

/** All that is the same in every chunk is made once, so that a piece of text costs the quoting of that text and no more. */
class ChatStream implements StreamRenderer {
  private readonly chunkStart: string;
  private readonly deltaStart: string;
  private readonly sequencer = new ToolCallSequencer();
  private opened = false;
  private hasText = false;
  private hasRefusal = false;
  private hasReasoning = false;
  private hasToolCalls = false;

  constructor(
    reply: ReplyContext,
    private readonly includeUsage: boolean,
  ) {
    const { createdSeconds: created, model } = reply;
    const shared = JSON.stringify({ id: renderId(reply), object: 'chat.completion.chunk', created, model });
    this.chunkStart = `data: ${shared.slice(0, -1)},"choices":[`;
    this.deltaStart = `${this.chunkStart}{"index":0,"delta":{`;
  }

  render(batch: readonly StreamEvent[]): string {
    let chunks = '';
    for (const event of batch) chunks += this.renderEvent(event);
    return chunks;
  }

  finish(reason: FinishReason, usage: Usage): string {
    let chunks = this.closeContent(reason);
    const finishReason = renderFinishReason(reason, this.hasToolCalls);
    chunks += `${this.deltaStart}},"finish_reason":"${finishReason}"}]}\n\n`;
    if (this.includeUsage) chunks += `${this.chunkStart}],"usage":${JSON.stringify(renderUsage(usage))}}\n\n`;
    return `${chunks}data: [DONE]\n\n`;
  }

  /** Nothing follows it, `[DONE]` least of all: that would make a broken reply a whole one (C-34). */
  fail(error: GatewayError): string {
    return `data: ${renderError(error)}\n\n`;
  }

  /** A comment: every client skips it, whether the first chunk has come or not (C-33). */
  keepAlive(): string {
    return ': keep-alive\n\n';
  }

  private renderEvent(event: StreamEvent): string {
    switch (event.type) {
      case 'text-delta':
        return this.renderText(event.text);
      case 'refusal-delta':
        this.hasRefusal = true;
        return `${this.open('null')}${this.deltaStart}"refusal":${JSON.stringify(event.text)}${CHOICE_END}`;
      case 'reasoning-delta':
        this.hasReasoning = true;
        return `${this.open('null')}${this.deltaStart}"reasoning_content":${JSON.stringify(event.text)}${CHOICE_END}`;
      case 'tool-call-start':
      case 'tool-call-delta':
      case 'tool-call-end':
        return this.renderCallEvents(this.sequencer.next(event));
      case 'upstream-start':
      case 'usage-report':
      case 'settlement-deferred':
      case 'completion-finish':
      case 'completion-failure':
        return '';
    }
  }

  private renderText(text: string): string {
    this.hasText = true;
    return `${this.open('""')}${this.deltaStart}"content":${JSON.stringify(text)}${CHOICE_END}`;
  }

  private renderCallEvents(events: readonly ToolCallEvent[]): string {
    let chunks = '';
    for (const event of events) {
      if (event.type === 'tool-call-start') {
        this.hasToolCalls = true;
        chunks += this.open('null') + this.renderCallPiece(callStart(event.index, event.callId, event.tool.name));
      } else if (event.type === 'tool-call-delta') {
        // Later pieces carry no id, type or name, not even null ones: strict tools refuse a changed identity (T-16).
        chunks += this.renderCallPiece(`{"index":${event.index},"function":{"arguments":${JSON.stringify(event.text)}}}`);
      }
    }
    return chunks;
  }

  private renderCallPiece(piece: string): string {
    return `${this.deltaStart}"tool_calls":[${piece}]${CHOICE_END}`;
  }

  /**
   * The chunk with the role, before the first of all others; clients throw without one. Its content is what the content
   * would be if no text followed, so that a client that joins the deltas gets the message of the plain reply.
   */
  private open(content: 'null' | '""'): string {
    if (this.opened) return '';
    this.opened = true;
    return `${this.deltaStart}"role":"assistant","content":${content}${CHOICE_END}`;
  }

  /** A reply without text whose content is an empty text, not null, has to say so. */
  private closeContent(reason: FinishReason): string {
    if (this.hasText || this.hasRefusal || isContentNull(this.hasToolCalls, this.hasReasoning, reason)) return '';
    return this.opened ? `${this.deltaStart}"content":""${CHOICE_END}` : this.open('""');
  }
}

function callStart(index: number, id: string, name: string): string {
  return JSON.stringify({ index, id, type: 'function', function: { name, arguments: '' } });
}
