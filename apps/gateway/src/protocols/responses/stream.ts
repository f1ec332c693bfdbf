import type { GatewayError } from '#inference/errors.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { ReplyContext, ReplyOptions, ShownUsage, StreamRenderer } from '../protocol-adapter.js';
import { type ToolCallEvent, ToolCallSequencer } from '../tool-calls/tool-call-sequencer.js';
import { renderStreamError } from './errors.js';
import { type ResponseEnd, renderFinishReason } from './finish-reason.js';
import type { ResponsesRequest } from './request.js';
import {
  hasVisibleText,
  itemId,
  type OutputItem,
  type ResponseState,
  renderItem,
  renderRefusal,
  renderSummary,
  renderText,
  responseRenderer,
} from './response.js';

/** Renders a streamed reply as named events. */
export function renderStream(reply: ReplyContext, parsed: ReplyOptions<ResponsesRequest>): StreamRenderer {
  return new ResponsesStream(reply, responseRenderer(reply, parsed));
}

/** Milliseconds `response.created` waits for the first content. */
const CREATED_AFTER_MS = 30_000;
/** Milliseconds after which a keep-alive is an event. Some clients time out after minutes without an event; comments do not count. */
const KEEPALIVE_EVENT_AFTER_MS = 60_000;
const COMMENT = ': keep-alive\n\n';

interface OpenItem {
  item: OutputItem;
  place: ItemPlace;
  /** A delta is `deltaStart`, its sequence number, `deltaFields`, the quoted text and `deltaEnd`. Only the text is rendered each time. */
  deltaStart: string;
  deltaFields: string;
  deltaEnd: string;
}

/**
 * Renders items one after another: reasoning, message, calls. The last item stays open until the next one begins or the reply ends, because
 * only then is it known whether it is complete.
 */
class ResponsesStream implements StreamRenderer {
  private sequenceNumber = 0;
  private created = false;
  /** Milliseconds since the last event. */
  private silentMs = 0;
  private open: OpenItem | undefined;
  /** Items that are done, each as JSON text. */
  private readonly output: string[] = [];
  private readonly sequencer = new ToolCallSequencer();
  private hasText = false;
  private hasToolCalls = false;
  /** Text and refusals that arrived after a call had begun. */
  private readonly trailing = { message: '', refusal: '' };

  constructor(
    private readonly reply: ReplyContext,
    private readonly renderResponse: (state: ResponseState) => string,
  ) {}

  render(batch: readonly StreamEvent[]): string {
    let events = '';
    for (const event of batch) events += this.renderEvent(event);
    return events;
  }

  finish(reason: FinishReason, usage: ShownUsage): string {
    const end = renderFinishReason(reason);
    return this.create() + this.endItems(end.status) + this.responseEvent(end.status, { ...end, usage });
  }

  /** Renders a failed Response, not an `error` event, which clients treat as a lost connection. */
  fail(error: GatewayError): string {
    const items = this.create() + this.endItem('incomplete') + this.endItems('incomplete');
    return items + this.responseEvent('failed', { status: 'failed', error: renderStreamError(error) });
  }

  keepAlive(silentMs: number): string {
    this.silentMs += silentMs;
    if (!this.created) return this.silentMs < CREATED_AFTER_MS ? COMMENT : this.create();
    return this.silentMs < KEEPALIVE_EVENT_AFTER_MS ? COMMENT : this.event('keepalive');
  }

  private renderEvent(event: StreamEvent): string {
    switch (event.type) {
      case 'text-delta':
        return this.renderMessageText('message', event.text);
      case 'refusal-delta':
        return this.renderMessageText('refusal', event.text);
      case 'reasoning-delta':
        // The format has no place for reasoning after text. It is billed anyway.
        return this.hasText || this.hasToolCalls ? '' : this.renderPiece('reasoning', event.text);
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

  private renderMessageText(kind: 'message' | 'refusal', text: string): string {
    this.hasText = true;
    if (!this.hasToolCalls) return this.renderPiece(kind, text);
    this.trailing[kind] += text;
    return '';
  }

  private renderPiece(kind: 'reasoning' | 'message' | 'refusal', text: string): string {
    const added = this.open?.item.kind === kind ? '' : this.addItem({ kind, text: '' });
    return added + this.delta(text);
  }

  private renderCallEvents(callEvents: readonly ToolCallEvent[]): string {
    let events = '';
    for (const event of callEvents) {
      if (event.type === 'tool-call-start') {
        this.hasToolCalls = true;
        events += this.addItem({ kind: event.kind, text: '', callId: event.callId, tool: event.tool });
      } else if (event.type === 'tool-call-delta') {
        events += this.delta(event.text);
      }
    }
    return events;
  }

  /** Opens the stream. It waits for content, because until then a failure has an HTTP status. */
  private create(): string {
    if (this.created) return '';
    this.created = true;
    return this.responseEvent('created', { status: 'in_progress' }) + this.responseEvent('in_progress', { status: 'in_progress' });
  }

  private addItem(item: OutputItem): string {
    const events = this.create() + this.endItem('completed');
    const outputIndex = this.output.length;
    const place = { item_id: itemId(this.reply, item.kind, outputIndex), output_index: outputIndex };
    const delta = DELTAS[item.kind];
    this.open = {
      item,
      place,
      deltaStart: eventStart(delta.type),
      deltaFields: `,${JSON.stringify({ ...place, ...delta.fields }).slice(1, -1)},"delta":`,
      deltaEnd: `${delta.end}}\n\n`,
    };
    const added = this.event('response.output_item.added', {
      output_index: outputIndex,
      item: renderItem(place.item_id, item, 'in_progress'),
    });
    return events + added + this.itemEvents(addedEvents(item.kind, place));
  }

  private delta(text: string): string {
    const { open } = this;
    if (open === undefined) return '';
    open.item.text += text;
    this.silentMs = 0;
    return open.deltaStart + this.sequenceNumber++ + open.deltaFields + JSON.stringify(text) + open.deltaEnd;
  }

  /** Closes the open item, however the reply ends: some clients read only `output_item.done`. */
  private endItem(status: ResponseEnd['status']): string {
    const { open } = this;
    if (open === undefined) return '';
    this.open = undefined;
    const { item, place } = open;
    const rendered = renderItem(place.item_id, item, status);
    this.output.push(JSON.stringify(rendered));
    return (
      this.itemEvents(doneEvents(item, place)) +
      this.event('response.output_item.done', { output_index: place.output_index, item: rendered })
    );
  }

  private endItems(status: ResponseEnd['status']): string {
    let events = '';
    for (const kind of ['message', 'refusal'] as const) {
      if (hasVisibleText(this.trailing[kind])) events += this.addItem({ kind, text: '' }) + this.delta(this.trailing[kind]);
    }
    return events + this.endItem(status);
  }

  private itemEvents(events: ItemEvent[]): string {
    return events.map(([type, fields]) => this.event(type, fields)).join('');
  }

  private responseEvent(name: 'created' | ResponseState['status'], state: Omit<ResponseState, 'output'>): string {
    return this.rawEvent(`response.${name}`, `,"response":${this.renderResponse({ ...state, output: this.output })}`);
  }

  private event(type: string, fields?: object): string {
    return this.rawEvent(type, fields === undefined ? '' : `,${JSON.stringify(fields).slice(1, -1)}`);
  }

  private rawEvent(type: string, fields: string): string {
    this.silentMs = 0;
    return `${eventStart(type)}${this.sequenceNumber++}${fields}}\n\n`;
  }
}

function eventStart(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
}

interface ItemPlace {
  item_id: string;
  output_index: number;
}

type ItemEvent = [type: string, fields: object];

/** Returns the events between `output_item.added` and the deltas. */
function addedEvents(kind: OutputItem['kind'], place: ItemPlace): ItemEvent[] {
  switch (kind) {
    case 'reasoning':
      return [['response.reasoning_summary_part.added', { ...place, summary_index: 0, part: renderSummary('') }]];
    case 'message':
      return [['response.content_part.added', { ...place, content_index: 0, part: renderText('') }]];
    case 'refusal':
      return [['response.content_part.added', { ...place, content_index: 0, part: renderRefusal('') }]];
    case 'function':
    case 'custom':
      return [];
  }
}

const DELTAS = {
  reasoning: { type: 'response.reasoning_summary_text.delta', fields: { summary_index: 0 }, end: '' },
  message: { type: 'response.output_text.delta', fields: { content_index: 0 }, end: ',"logprobs":[]' },
  refusal: { type: 'response.refusal.delta', fields: { content_index: 0 }, end: '' },
  function: { type: 'response.function_call_arguments.delta', fields: {}, end: '' },
  custom: { type: 'response.custom_tool_call_input.delta', fields: {}, end: '' },
} satisfies Record<OutputItem['kind'], { type: string; fields: object; end: string }>;

/** Returns the events between the deltas and `output_item.done`. */
function doneEvents(item: OutputItem, place: ItemPlace): ItemEvent[] {
  const { text } = item;
  switch (item.kind) {
    case 'reasoning':
      return [
        ['response.reasoning_summary_text.done', { ...place, summary_index: 0, text }],
        ['response.reasoning_summary_part.done', { ...place, summary_index: 0, part: renderSummary(text) }],
      ];
    case 'message':
      return [
        ['response.output_text.done', { ...place, content_index: 0, text, logprobs: [] }],
        ['response.content_part.done', { ...place, content_index: 0, part: renderText(text) }],
      ];
    case 'refusal':
      return [
        ['response.refusal.done', { ...place, content_index: 0, refusal: text }],
        ['response.content_part.done', { ...place, content_index: 0, part: renderRefusal(text) }],
      ];
    case 'function':
      return [['response.function_call_arguments.done', { ...place, name: item.tool.name, arguments: text }]];
    case 'custom':
      return [['response.custom_tool_call_input.done', { ...place, input: text }]];
  }
}
