import type { SettleReason } from '#contracts/billing.js';
import { estimateUsage } from '#inference/estimate-tokens.js';
import type { CompletionFailure, FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';

export interface MeterCaps {
  promptTokensEstimate: number;
  outputTokensMax: number;
}

/** How a request ended, as billing sees it. */
export type Ending = Extract<SettleReason, 'completed' | 'failed' | 'client-left'>;

/** Reads what an upstream says and knows at every moment what is owed for it (architecture.md, "What counts as returned"). */
export class Meter {
  upstream: string | undefined;
  terminal: { type: 'completion-finish'; reason: FinishReason } | CompletionFailure | undefined;
  /** Whether anything a client could have seen has arrived. */
  hasContent = false;
  private reported: Usage | undefined;
  private outputBytes = 0;
  private reasoningBytes = 0;

  constructor(
    private readonly caps: MeterCaps,
    private readonly streamed: boolean,
  ) {}

  read(batch: readonly StreamEvent[]): void {
    for (const event of batch) this.readEvent(event);
  }

  /** What the upstream reported last, else an estimate from what has arrived, within the caps the hold was made for. */
  usage(): Usage {
    if (this.reported !== undefined) return this.reported;
    const estimate = estimateUsage(this.caps.promptTokensEstimate, this.outputBytes, this.reasoningBytes);
    const outputTokens = Math.min(estimate.outputTokens, this.caps.outputTokensMax);
    return { ...estimate, outputTokens, reasoningTokens: Math.min(estimate.reasoningTokens, outputTokens) };
  }

  /**
   * What to bill, undefined for nothing. A complete reply is billed whatever it holds. A failure is billed only where content
   * was already streamed, and a client that left only where content had been received.
   */
  billable(ending: Ending): Usage | undefined {
    switch (ending) {
      case 'completed':
        return this.usage();
      case 'failed':
        return this.streamed && this.hasContent ? this.usage() : undefined;
      case 'client-left':
        return this.hasContent || this.terminal?.type === 'completion-finish' ? this.usage() : undefined;
    }
  }

  private readEvent(event: StreamEvent): void {
    switch (event.type) {
      case 'upstream-start':
        this.upstream = event.upstream;
        return;
      case 'text-delta':
      case 'refusal-delta':
      case 'tool-call-delta':
        this.hasContent = true;
        this.outputBytes += Buffer.byteLength(event.text);
        return;
      case 'reasoning-delta':
        this.hasContent = true;
        this.reasoningBytes += Buffer.byteLength(event.text);
        return;
      case 'tool-call-start':
        this.hasContent = true;
        this.outputBytes += Buffer.byteLength(event.tool.name);
        return;
      case 'usage-report':
        this.reported = event.usage;
        return;
      case 'completion-finish':
      case 'completion-failure':
        this.terminal = event;
        return;
      case 'tool-call-end':
        return;
    }
  }
}
