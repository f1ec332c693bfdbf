import type { GatewayError } from '#inference/errors.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Tool } from '#inference/tool.js';
import type { ReplyContext, ReplyOptions, ShownUsage, StreamRenderer } from '../protocol-adapter.js';
import { type ToolCallEvent, ToolCallSequencer } from '../tool-calls/tool-call-sequencer.js';
import { renderError } from './errors.js';
import { renderFinishReason } from './finish-reason.js';
import type { ChatRequest } from './request.js';
import { isEmptyContentNull, renderId } from './response.js';
import { renderUsage } from './usage.js';

/** Renders a streamed reply as `data:` chunks. */
export function renderStream(reply: ReplyContext, parsed: ReplyOptions<ChatRequest>): StreamRenderer {
  return new ChatStream(reply, parsed.includeUsage);
}

const CHOICE_END = '},"finish_reason":null}]}\n\n';

/** Renders the constant parts of a chunk once, so that for a text delta only its text is encoded as JSON. */
class ChatStream implements StreamRenderer {
  private readonly chunkStart: string;
  private readonly deltaStart: string;
  /** Renders one tool call after the other: clients fail on interleaved calls. */
  private readonly sequencer = new ToolCallSequencer();
  private opened = false;
  private hasText = false;
  private hasRefusal = false;
  private hasReasoning = false;
  private hasToolCalls = false;
  /** Kind of the call that is being sent. */
  private callKind: Tool['kind'] = 'function';

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

  /** A client that asks for the cost gets the chunk with the usage as well. */
  finish(reason: FinishReason, usage: ShownUsage): string {
    let chunks = this.closeContent(reason);
    const finishReason = renderFinishReason(reason, this.hasToolCalls);
    chunks += `${this.deltaStart}},"finish_reason":"${finishReason}"}]}\n\n`;
    if (this.includeUsage || usage.costUsd !== undefined)
      chunks += `${this.chunkStart}],"usage":${JSON.stringify(renderUsage(usage))}}\n\n`;
    return `${chunks}data: [DONE]\n\n`;
  }

  /** Renders an error without `[DONE]`, which would mark the failed reply as complete. */
  fail(error: GatewayError): string {
    return `data: ${renderError(error)}\n\n`;
  }

  /** Renders a comment, which every client skips, also before the first chunk. */
  keepAlive(): string {
    return ': keep-alive\n\n';
  }

  private renderEvent(event: StreamEvent): string {
    switch (event.type) {
      case 'text-delta':
        return this.renderText(event.text);
      case 'refusal-delta':
        this.hasRefusal = true;
        return `${this.openOnce('null')}${this.deltaStart}"refusal":${JSON.stringify(event.text)}${CHOICE_END}`;
      case 'reasoning-delta':
        this.hasReasoning = true;
        return `${this.openOnce('null')}${this.deltaStart}"reasoning_content":${JSON.stringify(event.text)}${CHOICE_END}`;
      case 'tool-call-start':
      case 'tool-call-delta':
      case 'tool-call-end':
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

  private renderText(text: string): string {
    this.hasText = true;
    return `${this.openOnce('""')}${this.deltaStart}"content":${JSON.stringify(text)}${CHOICE_END}`;
  }

  private renderCallEvents(events: readonly ToolCallEvent[]): string {
    let chunks = '';
    for (const event of events) {
      if (event.type === 'tool-call-start') {
        this.hasToolCalls = true;
        this.callKind = event.kind;
        chunks += this.openOnce('null') + this.renderCallPiece(callStart(event));
      } else if (event.type === 'tool-call-delta') {
        // Later pieces have no id, type or name, not even null: strict clients reject a changed identity.
        chunks += this.renderCallPiece(`{"index":${event.index},${ARGUMENTS_START[this.callKind]}${JSON.stringify(event.text)}}}`);
      }
    }
    return chunks;
  }

  private renderCallPiece(piece: string): string {
    return `${this.deltaStart}"tool_calls":[${piece}]${CHOICE_END}`;
  }

  /**
   * Renders the first chunk, with the role that clients require; `''` if it was rendered before. `content` is what the message ends with if
   * no text follows: null or `''`. A client that joins the deltas then gets the same message as in a plain reply.
   */
  private openOnce(content: 'null' | '""'): string {
    if (this.opened) return '';
    this.opened = true;
    return `${this.deltaStart}"role":"assistant","content":${content}${CHOICE_END}`;
  }

  /** Renders an empty text when the content of the reply is `''`, not null, and no text was sent. */
  private closeContent(reason: FinishReason): string {
    if (this.hasText || this.hasRefusal || isEmptyContentNull(this.hasToolCalls, this.hasReasoning, reason)) return '';
    return this.opened ? `${this.deltaStart}"content":""${CHOICE_END}` : this.openOnce('""');
  }
}

/** The field of a piece that continues a call. */
const ARGUMENTS_START = { function: '"function":{"arguments":', custom: '"custom":{"input":' } satisfies Record<Tool['kind'], string>;

function callStart({ index, callId: id, kind, tool: { name } }: Extract<ToolCallEvent, { type: 'tool-call-start' }>): string {
  const called = kind === 'custom' ? { custom: { name, input: '' } } : { function: { name, arguments: '' } };
  return JSON.stringify({ index, id, type: kind, ...called });
}
