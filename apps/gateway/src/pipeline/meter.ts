import type { SettleRequest } from '#contracts/billing/holds.js';
import type { Attempt } from '#inference/attempt.js';
import { ReceivedOutput, withinCap } from '#inference/received-output.js';
import type { CompletionFailure, FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { limitPrompt } from '#money/price.js';
import type { Quote } from './quote.js';

/** Outcome of a request. Billing records it as the `reason` of the settlement. */
export type RequestOutcome = Exclude<SettleRequest['reason'], 'released'>;

/** Reads the events of one request. Tracks its upstream, its terminal event and the usage to bill. */
export class Meter {
  /** Id of the last upstream that started. */
  upstream: string | undefined;
  /** Calls of upstreams until the reply began, or failed. Undefined when none was made. */
  calls: number | undefined;
  /** Milliseconds that the request waited in admission queues. Undefined when it did not wait. */
  queueMs: number | undefined;
  terminal: { type: 'completion-finish'; reason: FinishReason } | CompletionFailure | undefined;
  /** True when the inference-proxy settles the hold. */
  isDeferred = false;
  /** Calls of upstreams, if the inference-proxy reported them. */
  attempts: readonly Attempt[] | undefined;
  private readonly received = new ReceivedOutput();
  private reported: Usage | undefined;

  constructor(
    private readonly quote: Quote,
    private readonly streamed: boolean,
  ) {}

  read(batch: readonly StreamEvent[]): void {
    for (const event of batch) this.readEvent(event);
  }

  /** Returns the last reported usage, else an estimate from the received events. */
  private get used(): Usage {
    return this.reported ?? this.received.estimateUsage(this.quote);
  }

  /** Returns the tokens that the upstream counted beyond `billed`: the hold does not cover them. They are neither billed nor shown. */
  countUnbilled(billed: Usage): number {
    return sumTotal(this.used) - sumTotal(billed);
  }

  /** Returns the part of the usage that the hold covers. It is billed, and it is shown. */
  private get covered(): Usage {
    const { amount, outputTokensMax, price } = this.quote;
    return limitPrompt(withinCap(this.used, outputTokensMax), amount, price);
  }

  /**
   * Returns the usage to bill and to show, undefined for none:
   * - completed: always.
   * - failed: a stream after content; a plain request never.
   * - client-disconnected: if tokens were reported (perhaps only a prompt), content was received, or the reply had finished.
   */
  billable(outcome: RequestOutcome): Usage | undefined {
    switch (outcome) {
      case 'completed':
        return this.covered;
      case 'failed':
        return this.streamed && this.received.hasContent ? this.covered : undefined;
      case 'client-disconnected':
        return this.isBillableAfterDisconnect ? this.covered : undefined;
    }
  }

  private get isBillableAfterDisconnect(): boolean {
    const { reported, received, terminal } = this;
    const isReported = reported !== undefined && reported.promptTokens + reported.outputTokens > 0;
    return isReported || received.hasContent || terminal?.type === 'completion-finish';
  }

  private readEvent(event: StreamEvent): void {
    switch (event.type) {
      case 'upstream-start':
        this.upstream = event.upstream;
        this.calls = event.attempt ?? 1;
        this.queueMs = event.queueMs;
        if (event.prompt) this.received.noteCounts({ ...event.prompt, outputTokens: 0, reasoningTokens: 0 });
        return;
      case 'usage-report':
        this.reported = event.usage;
        return;
      case 'settlement-deferred':
        this.isDeferred = true;
        return;
      case 'attempts-report':
        this.attempts = event.attempts;
        return;
      case 'completion-finish':
      case 'completion-failure':
        this.terminal = event;
        return;
      default:
        this.received.count(event);
    }
  }
}

function sumTotal({ promptTokens, outputTokens }: Usage): number {
  return promptTokens + outputTokens;
}
