import type { SettleRequest } from '#contracts/billing/holds.js';
import { type EstimateCaps, ReceivedOutput } from '#inference/received-output.js';
import type { CompletionFailure, FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';

/** How a request ended, as billing sees it. */
export type Ending = Exclude<SettleRequest['reason'], 'released'>;

/** Reads what an upstream says and knows at every moment what is owed for it (architecture.md, "What counts as returned"). */
export class Meter {
  upstream: string | undefined;
  terminal: { type: 'completion-finish'; reason: FinishReason } | CompletionFailure | undefined;
  /** True when the inference-proxy settles the hold. */
  isDeferred = false;
  private readonly received = new ReceivedOutput();
  private reported: Usage | undefined;

  constructor(
    private readonly caps: EstimateCaps,
    private readonly streamed: boolean,
  ) {}

  read(batch: readonly StreamEvent[]): void {
    for (const event of batch) this.readEvent(event);
  }

  /** What the upstream reported last, else an estimate from what has arrived, within the caps the hold was made for. */
  usage(): Usage {
    return this.reported ?? this.received.estimateUsage(this.caps);
  }

  /**
   * What to bill, undefined for nothing. A complete reply is billed whatever it holds. A failure is billed only where content
   * was already streamed. A client that left is billed what the inference-proxy reports, which may be a prompt without content; without a
   * report only where content had been received.
   */
  billable(ending: Ending): Usage | undefined {
    switch (ending) {
      case 'completed':
        return this.usage();
      case 'failed':
        return this.streamed && this.received.hasContent ? this.usage() : undefined;
      case 'client-disconnected':
        return this.owesSomething ? this.usage() : undefined;
    }
  }

  private get owesSomething(): boolean {
    const { reported, received, terminal } = this;
    const isReported = reported !== undefined && reported.promptTokens + reported.outputTokens > 0;
    return isReported || received.hasContent || terminal?.type === 'completion-finish';
  }

  private readEvent(event: StreamEvent): void {
    switch (event.type) {
      case 'upstream-start':
        this.upstream = event.upstream;
        return;
      case 'text-delta':
      case 'refusal-delta':
      case 'reasoning-delta':
      case 'tool-call-start':
      case 'tool-call-delta':
        this.received.count(event);
        return;
      case 'usage-report':
        this.reported = event.usage;
        return;
      case 'settlement-deferred':
        this.isDeferred = true;
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
