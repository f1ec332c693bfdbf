import type { RecordedSpan, SpanSink } from './recorded-span.js';
import type { SpanQueue } from './span-queue.js';

/** Limit of the ended spans held for requests in progress: about 1 KiB each, as a span shares the rest with its request. */
const HELD_MAX = 8_192;

/**
 * Decides which spans are exported. The spans of a request are held until its root span in this process ends. All of them are exported when
 * the trace was sampled, or the root span failed or took at least `slowMs`; otherwise none. A crash may lose a child span, but never exports
 * a child whose parent was lost.
 */
export class TailDecision implements SpanSink {
  private held = 0;

  constructor(
    private readonly queue: SpanQueue,
    private readonly slowMs: number,
  ) {}

  ended(span: RecordedSpan): void {
    const { local } = span;
    if (local.fate === 'discard') return;
    if (local.fate === 'export') this.queue.push(span);
    else if (span.isRoot) this.decide(span);
    else if (this.held < HELD_MAX) {
      this.held += 1;
      local.held.push(span);
    } else if (local.isSampled) this.queue.push(span);
    else this.queue.counts.dropped += 1;
  }

  isDue({ hasFailed, startedAt }: RecordedSpan, at = performance.now()): boolean {
    return hasFailed || at - startedAt >= this.slowMs;
  }

  private decide(root: RecordedSpan): void {
    const { local } = root;
    const { held } = local;
    this.held -= held.length;
    local.held = [];
    local.fate = local.isSampled || this.isDue(root, root.endedAt) ? 'export' : 'discard';
    if (local.fate === 'discard') return;
    for (const span of held) this.queue.push(span);
    this.queue.push(root);
  }
}
