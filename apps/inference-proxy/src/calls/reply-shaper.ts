import type { InferenceRequest } from '#inference/request.js';
import { appendEvent, type FinishReason, type StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { StopSequences } from './stop-sequences.js';
import type { UsageMeter } from './usage-meter.js';
import { WholeCharacters } from './whole-characters.js';

export interface ReplyLimits {
  outputTokensMax: number;
  /** Sequences that the upstream will not look for. */
  stop: readonly string[];
  /** Whether a reply of nothing at all can be what was asked for (`mayBeEmpty`). */
  mayBeEmpty: boolean;
}

/**
 * What we add to an upstream's own events: whole characters, the meter, stop sequences it does not know, an end to replies that will not
 * end, and one `usage-report` before the terminal event, whether the upstream counted or not. Everything that comes is counted, also what
 * comes after a stop sequence and is not passed on: the upstream bills it.
 */
export class ReplyShaper {
  /** The terminal event is out. Whatever else the upstream says is not wanted: the call can be given up. */
  finished = false;
  /** It was us who ended it: the upstream is still talking. */
  wasCut = false;
  /** A stop sequence was met: nothing more is passed on, and the upstream is read to its end for its usage. */
  hasStopped = false;
  private readonly characters = new WholeCharacters();
  private readonly stops: StopSequences | undefined;
  private readonly runawayTokens: number;
  private isRefusing = false;
  private readonly openCalls = new Map<number, { bare: boolean }>();

  constructor(
    private readonly meter: UsageMeter,
    private readonly limits: ReplyLimits,
  ) {
    this.stops = limits.stop.length > 0 ? new StopSequences(limits.stop) : undefined;
    // Estimates may be wrong by a factor of two.
    this.runawayTokens = 2 * limits.outputTokensMax + 64;
  }

  /** Throws `UpstreamFailure` when the reply turns out to be none. */
  shape(events: readonly StreamEvent[]): StreamEvent[] {
    const shaped: StreamEvent[] = [];
    for (const event of this.characters.mend(events)) {
      if (this.finished) break;
      this.meter.count(event);
      if (this.hasStopped) this.passOver(event, shaped);
      else this.add(this.isRefusing && event.type === 'text-delta' ? { type: 'refusal-delta', text: event.text } : event, shaped);
    }
    if (!this.finished && this.meter.outputTokensEstimate > this.runawayTokens) this.cut(shaped);
    return shaped;
  }

  /** The end of a reply that a stop sequence had ended for its client, where its upstream does not come to an end of its own. */
  endStopped(): StreamEvent[] {
    const shaped: StreamEvent[] = [];
    this.cut(shaped);
    return shaped;
  }

  private add(event: StreamEvent, shaped: StreamEvent[]): void {
    switch (event.type) {
      case 'usage-report':
        this.meter.report(event.usage);
        return;
      case 'completion-finish':
        this.flushHeld(shaped);
        this.close(event.reason, shaped);
        return;
      case 'text-delta':
        if (this.stops !== undefined) {
          const { text, met } = this.stops.push(event.text);
          if (text !== '') appendEvent(shaped, { type: 'text-delta', text });
          if (met) this.stop(shaped);
          return;
        }
        break;
      case 'tool-call-start':
        this.openCalls.set(event.index, { bare: event.kind === 'function' });
        break;
      case 'tool-call-delta':
        this.openCalls.set(event.index, { bare: false });
        break;
      case 'tool-call-end':
        this.openCalls.delete(event.index);
        break;
      case 'refusal-delta':
        this.isRefusing = true;
        break;
      case 'upstream-start':
      case 'reasoning-delta':
      case 'settlement-deferred':
      case 'completion-failure':
        break;
    }
    this.flushHeld(shaped);
    // Pieces that came in one read of the socket go on as one: nobody has them later, and each piece by itself costs everyone on its
    // way, the client last. When tokens come faster than they are read, pieces grow by themselves.
    appendEvent(shaped, event);
  }

  private passOver(event: StreamEvent, shaped: StreamEvent[]): void {
    if (event.type === 'usage-report') this.meter.report(event.usage);
    else if (event.type === 'completion-finish') this.close('stop-sequence', shaped);
  }

  /** Text held back for a stop sequence keeps its place before whatever is not text. */
  private flushHeld(shaped: StreamEvent[]): void {
    const text = this.stops?.flush() ?? '';
    if (text !== '') appendEvent(shaped, { type: 'text-delta', text });
  }

  private stop(shaped: StreamEvent[]): void {
    this.hasStopped = true;
    this.endCalls(shaped);
  }

  /** Ends the reply before the upstream does. */
  private cut(shaped: StreamEvent[]): void {
    this.wasCut = true;
    if (!this.hasStopped) {
      this.flushHeld(shaped);
      this.endCalls(shaped);
    }
    this.close(this.hasStopped ? 'stop-sequence' : 'length', shaped);
  }

  private endCalls(shaped: StreamEvent[]): void {
    for (const [index, { bare }] of this.openCalls) {
      if (bare) shaped.push({ type: 'tool-call-delta', index, text: '{}' });
      shaped.push({ type: 'tool-call-end', index });
    }
  }

  /** A model that just stops has failed, if it has said nothing (M-30): better an error that costs nothing than a reply of nothing. */
  private close(reason: FinishReason, shaped: StreamEvent[]): void {
    this.finished = true;
    if (reason === 'stop' && !this.meter.hasContent && !this.limits.mayBeEmpty) {
      throw new UpstreamFailure('empty', 'upstream_error', { detail: 'no output' });
    }
    shaped.push({ type: 'usage-report', usage: this.meter.final() }, { type: 'completion-finish', reason });
  }
}

/**
 * Nothing is a good answer where a stop sequence may have been met at once, which not every upstream says, and where the
 * conversation ends with the model's own words: it may have nothing to add to them.
 */
export function mayBeEmpty({ stop, turns }: Pick<InferenceRequest, 'stop' | 'turns'>): boolean {
  return (stop ?? []).length > 0 || turns.at(-1)?.role === 'assistant';
}
