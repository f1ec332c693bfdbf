import { estimateOutputTokens, estimateUsage } from './estimate-tokens.js';
import type { StreamEvent } from './stream-event.js';
import type { Usage } from './usage.js';

/** The caps a hold was made for: no estimate goes beyond them. */
export interface EstimateCaps {
  promptTokensEstimate: number;
  outputTokensMax: number;
}

/**
 * How much of a reply has been received. The gateway and the inference-proxy both count, each in case the other dies, and what
 * they bill must not depend on which of them it is: so they count with this.
 */
export class ReceivedOutput {
  /** Whether anything a client could have seen has arrived (`isContent`). */
  hasContent = false;
  /** UTF-8 bytes of text, reasoning, names and arguments of calls: all that the model wrote. */
  bytes = 0;
  private reasoningBytes = 0;

  count(event: StreamEvent): void {
    switch (event.type) {
      case 'text-delta':
      case 'refusal-delta':
      case 'tool-call-delta':
        this.add(event.text);
        return;
      case 'reasoning-delta':
        this.reasoningBytes += this.add(event.text);
        return;
      case 'tool-call-start':
        this.add(event.tool.name);
        return;
      case 'tool-call-end':
      case 'upstream-start':
      case 'usage-report':
      case 'settlement-deferred':
      case 'completion-finish':
      case 'completion-failure':
        return;
    }
  }

  /** By the one estimator, whatever the caps. */
  get tokensEstimate(): number {
    return estimateOutputTokens(this.bytes);
  }

  /** The usage of a reply of which nobody else has counted anything. */
  estimateUsage(caps: EstimateCaps): Usage {
    return withinCap(estimateUsage(caps.promptTokensEstimate, this.bytes - this.reasoningBytes, this.reasoningBytes), caps.outputTokensMax);
  }

  private add(text: string): number {
    const bytes = Buffer.byteLength(text);
    this.hasContent = true;
    this.bytes += bytes;
    return bytes;
  }
}

export function withinCap(usage: Usage, outputTokensMax: number): Usage {
  const outputTokens = Math.min(usage.outputTokens, outputTokensMax);
  return { ...usage, outputTokens, reasoningTokens: Math.min(usage.reasoningTokens, outputTokens) };
}
