import type { InferenceRequest } from '#inference/request.js';
import { appendEvent, type FinishReason, type StreamEvent } from '#inference/stream-event.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { StopSequences } from './stop-sequences.js';
import type { UsageMeter } from './usage-meter.js';
import { WholeCharacters } from './whole-characters.js';

interface OutputLimits {
  outputTokensMax: number;
  /** Stop sequences that the upstream does not match itself. */
  stop: readonly string[];
  /** True when a reply without content may be correct (`mayBeEmpty`). */
  mayBeEmpty: boolean;
}

/**
 * Adds to an upstream's events what every client relies on: whole characters, stop sequences, an end to replies that exceed their cap, and
 * one `usage-report` before the terminal event. The meter counts everything, also what follows a stop sequence: the upstream bills it.
 */
export class ReplyShaper {
  /** True after the terminal event: the rest of the reply is not needed. */
  finished = false;
  /** True when the shaper ended the reply before the upstream did. */
  wasCut = false;
  /** True after a stop sequence: nothing more is passed on, and the rest is read for its usage. */
  metStopSequence = false;
  private readonly characters = new WholeCharacters();
  private readonly stops: StopSequences | undefined;
  private readonly runawayTokens: number;
  /** After a refusal, text belongs to it. */
  private isRefusing = false;
  /** A function call that is cut before its arguments gets `{}`, so that clients can parse it. */
  private readonly openToolCalls = new Map<number, { hasNoArguments: boolean }>();

  constructor(
    private readonly meter: UsageMeter,
    private readonly limits: OutputLimits,
  ) {
    this.stops = limits.stop.length > 0 ? new StopSequences(limits.stop) : undefined;
    // Twice the cap, because an estimate may be wrong by a factor of two.
    this.runawayTokens = 2 * limits.outputTokensMax + 64;
  }

  /** Throws `UpstreamFailure` when the model stops without content although the request allows no empty reply. */
  shape(events: readonly StreamEvent[]): StreamEvent[] {
    const shaped: StreamEvent[] = [];
    for (const event of this.characters.join(events)) {
      if (this.finished) break;
      this.meter.count(event);
      if (this.metStopSequence) this.ignoreAfterStop(event, shaped);
      else this.add(this.isRefusing && event.type === 'text-delta' ? { type: 'refusal-delta', text: event.text } : event, shaped);
    }
    if (!this.finished && this.meter.outputTokensEstimate > this.runawayTokens) this.cut(shaped);
    return shaped;
  }

  /** Returns the end of a reply that is complete for its client by a stop sequence, when the upstream fails after it. */
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
          if (met) this.onStopSequence(shaped);
          return;
        }
        break;
      case 'tool-call-start':
        this.openToolCalls.set(event.index, { hasNoArguments: event.kind === 'function' });
        break;
      case 'tool-call-delta':
        this.openToolCalls.set(event.index, { hasNoArguments: false });
        break;
      case 'tool-call-end':
        this.openToolCalls.delete(event.index);
        break;
      case 'refusal-delta':
        this.isRefusing = true;
        break;
      case 'upstream-start':
      case 'reasoning-delta':
      case 'embedding-delta':
      case 'settlement-deferred':
      case 'attempts-report':
      case 'completion-failure':
        break;
    }
    this.flushHeld(shaped);
    // Deltas from one read of the socket become one: nothing is delayed, and each delta costs every process up to the client.
    appendEvent(shaped, event);
  }

  private ignoreAfterStop(event: StreamEvent, shaped: StreamEvent[]): void {
    if (event.type === 'usage-report') this.meter.report(event.usage);
    else if (event.type === 'completion-finish') this.close('stop-sequence', shaped);
  }

  /** Text held back for a stop sequence keeps its place before other events. */
  private flushHeld(shaped: StreamEvent[]): void {
    const text = this.stops?.flush() ?? '';
    if (text !== '') appendEvent(shaped, { type: 'text-delta', text });
  }

  private onStopSequence(shaped: StreamEvent[]): void {
    this.metStopSequence = true;
    this.endToolCalls(shaped);
  }

  /** Ends the reply before the upstream does. */
  private cut(shaped: StreamEvent[]): void {
    this.wasCut = true;
    if (!this.metStopSequence) {
      this.flushHeld(shaped);
      this.endToolCalls(shaped);
    }
    this.close(this.metStopSequence ? 'stop-sequence' : 'length', shaped);
  }

  private endToolCalls(shaped: StreamEvent[]): void {
    for (const [index, { hasNoArguments }] of this.openToolCalls) {
      if (hasNoArguments) shaped.push({ type: 'tool-call-delta', index, text: '{}' });
      shaped.push({ type: 'tool-call-end', index });
    }
  }

  /** True for a model that stops without content: it has failed, and an error that costs nothing is better than an empty reply. */
  isEmpty(reason: FinishReason | undefined): boolean {
    return reason === 'stop' && !this.meter.hasContent && !this.limits.mayBeEmpty;
  }

  private close(reason: FinishReason, shaped: StreamEvent[]): void {
    this.finished = true;
    if (this.isEmpty(reason)) {
      throw new UpstreamFailure('empty', 'upstream_error', { detail: 'empty reply' });
    }
    shaped.push({ type: 'usage-report', usage: this.meter.final() }, { type: 'completion-finish', reason });
  }
}

/**
 * True when an empty reply may be correct: a stop sequence may have matched at once, which not every upstream reports, or the model
 * may have nothing to add to its own last turn.
 */
export function mayBeEmpty({ stop, turns }: Pick<InferenceRequest, 'stop' | 'turns'>): boolean {
  return (stop ?? []).length > 0 || turns.at(-1)?.role === 'assistant';
}
