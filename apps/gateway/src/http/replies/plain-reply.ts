import type { ServerResponse } from 'node:http';
import { CompletionCollector } from '#inference/completion-collector.js';
import { type FinishReason, isContent, type StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { Reply } from '../../pipeline/reply.js';
import type { ParsedRequest, ProtocolAdapter, ReplyContext, ReplyOptions } from '../../protocols/protocol-adapter.js';
import type { HttpExchange } from '../http-exchange.js';
import { showUsage } from './reply-cost.js';
import { writeJson } from './write-reply.js';

/** Collects the events of a reply and sends it as one JSON body. */
export class PlainReply<Parsed extends ParsedRequest> implements Reply {
  private readonly collector = new CompletionCollector();

  constructor(
    private readonly exchange: HttpExchange,
    private readonly response: ServerResponse,
    private readonly adapter: ProtocolAdapter<Parsed>,
    private readonly options: ReplyOptions<Parsed>,
    private readonly context: ReplyContext,
  ) {}

  get stopped(): AbortSignal {
    return this.exchange.stopped;
  }

  send(batch: readonly StreamEvent[]): undefined {
    if (batch.some(isContent)) this.exchange.firstContentAt ??= performance.now();
    for (const event of batch) this.collector.add(event);
  }

  finish(reason: FinishReason, usage: Usage): void {
    this.collector.add({ type: 'usage-report', usage: showUsage(this.exchange, usage) });
    this.collector.add({ type: 'completion-finish', reason });
    writeJson(this.exchange, this.response, this.adapter.renderCompletion(this.context, this.options, this.collector.finish()));
  }
}
