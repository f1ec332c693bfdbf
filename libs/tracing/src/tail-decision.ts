import type { RecordedSpan, SpanSink } from './recorded-span.js';
import type { SpanQueue } from './span-queue.js';

/** Ended spans of requests in progress that may yet be exported. A span refers to what its request has anyway: about 1 KiB. */
const HELD_MAX = 8_192;

/**
 * Decides which spans are exported. A span of a sampled trace is queued at its end. The others of a request are held until its first span
 * in this process ends: if that one failed or took at least `slowMs`, all of them are exported, otherwise none.
 */
export class TailDecision implements SpanSink {
  private held = 0;

  constructor(
    private readonly queue: SpanQueue,
    private readonly slowMs: number,
  ) {}

  ended(span: RecordedSpan): void {
    const { local } = span;
    if (local.isSampled || local.fate === 'export') this.queue.push(span);
    else if (local.fate === 'discard') return;
    else if (span.isRoot) this.decide(span);
    else if (this.held >= HELD_MAX) this.queue.counts.dropped += 1;
    else {
      this.held += 1;
      local.held.push(span);
    }
  }

  private decide(root: RecordedSpan): void {
    const { local } = root;
    const { held } = local;
    this.held -= held.length;
    local.held = [];
    local.fate = root.hasFailed || root.endedAt - root.startedAt >= this.slowMs ? 'export' : 'discard';
    if (local.fate === 'discard') return;
    for (const span of held) this.queue.push(span);
    this.queue.push(root);
  }
}
