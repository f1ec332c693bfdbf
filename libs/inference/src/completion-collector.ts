import type { CompletedToolCall, Completion } from './completion.js';
import { GatewayError } from './errors.js';
import type { FinishReason, StreamEvent } from './stream-event.js';
import type { Usage } from './usage.js';

/**
 * Folds events into a whole reply as they arrive. `add` throws a failure event as a `GatewayError`. `finish` throws `upstream_error`
 * when the stream ended without its terminal event.
 */
export class CompletionCollector {
  private readonly text: string[] = [];
  private readonly trailingText: string[] = [];
  private readonly refusal: string[] = [];
  private readonly trailingRefusal: string[] = [];
  private readonly reasoning: string[] = [];
  private readonly leadingReasoning: string[] = [];
  private readonly calls: (Omit<CompletedToolCall, 'argumentsText'> & { pieces: string[] })[] = [];
  private usage: Usage | undefined;
  private finishReason: FinishReason | undefined;

  add(event: StreamEvent): void {
    switch (event.type) {
      case 'text-delta':
        this.text.push(event.text);
        if (this.calls.length > 0) this.trailingText.push(event.text);
        return;
      case 'refusal-delta':
        this.refusal.push(event.text);
        if (this.calls.length > 0) this.trailingRefusal.push(event.text);
        return;
      case 'reasoning-delta':
        this.reasoning.push(event.text);
        if (this.text.length + this.refusal.length + this.calls.length === 0) this.leadingReasoning.push(event.text);
        return;
      case 'tool-call-start':
        this.calls[event.index] = { callId: event.callId, tool: event.tool, kind: event.kind, pieces: [] };
        return;
      case 'tool-call-delta':
        this.calls[event.index]?.pieces.push(event.text);
        return;
      case 'tool-call-end':
      case 'upstream-start':
      case 'embedding-delta':
      case 'settlement-deferred':
      case 'attempts-report':
        return;
      case 'usage-report':
        this.usage = event.usage;
        return;
      case 'completion-finish':
        this.finishReason = event.reason;
        return;
      case 'completion-failure':
        throw new GatewayError(event.code, event.message, { retryAfterSeconds: event.retryAfterSeconds });
    }
  }

  finish(): Completion {
    if (this.finishReason === undefined || this.usage === undefined) {
      throw new GatewayError('upstream_error', 'The model stopped before its reply was complete.');
    }
    return {
      text: this.text.join(''),
      trailingText: this.trailingText.join(''),
      refusal: this.refusal.join(''),
      trailingRefusal: this.trailingRefusal.join(''),
      reasoning: this.reasoning.join(''),
      leadingReasoning: this.leadingReasoning.join(''),
      toolCalls: this.calls.map(({ pieces, ...call }) => ({ ...call, argumentsText: pieces.join('') })),
      finishReason: this.finishReason,
      usage: this.usage,
    };
  }
}
