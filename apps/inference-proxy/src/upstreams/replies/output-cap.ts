import { estimateBytes } from '#inference/estimate-tokens.js';
import { withinCap } from '#inference/received-output.js';
import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import type { StreamParser, UpstreamCall } from '../upstream-adapter.js';

/** Far more than an upstream writes before its own lowest cap, 16 tokens, ends the reply. One without a cap costs no more beyond it. */
const DROPPED_LENGTH_MAX = 4_096;

/**
 * Enforces an output cap that the upstream does not get: it takes none, or only a higher one. The excess is dropped by estimate, and is read
 * on for a while, because the end of the reply brings the prompt count. The output count is limited to the cap.
 */
export class OutputCap {
  /** True when the upstream wrote on and the reply was ended here. */
  isOver = false;
  private bytesLeft: number;
  private hasDropped = false;
  private droppedLength = 0;
  /** Open calls that were passed on; `bare`: without arguments so far. */
  private readonly calls = new Map<number, { bare: boolean }>();

  constructor(private readonly outputTokensMax: number) {
    this.bytesLeft = estimateBytes(outputTokensMax);
  }

  /** Appends to `kept` what the cap allows of the events that `read` appends, also those before a failure. */
  keep(read: (events: StreamEvent[]) => void, kept: StreamEvent[]): void {
    if (this.isOver) return;
    const events: StreamEvent[] = [];
    try {
      read(events);
    } finally {
      for (const event of events) this.keepEvent(event, kept);
    }
    if (this.droppedLength > DROPPED_LENGTH_MAX && kept.at(-1)?.type !== 'completion-finish') this.cut(kept);
  }

  private cut(kept: StreamEvent[]): void {
    this.isOver = true;
    for (const index of this.calls.keys()) this.keepEvent({ type: 'tool-call-end', index }, kept);
    kept.push({ type: 'completion-finish', reason: 'length' });
  }

  private keepEvent(event: StreamEvent, kept: StreamEvent[]): void {
    switch (event.type) {
      case 'text-delta':
      case 'reasoning-delta':
      case 'refusal-delta': {
        const text = this.take(event.text);
        if (text !== '') kept.push({ ...event, text });
        return;
      }
      case 'tool-call-start':
        this.hasDropped ||= this.bytesLeft === 0;
        if (this.hasDropped) {
          this.droppedLength += event.tool.name.length;
          return;
        }
        this.bytesLeft = Math.max(0, this.bytesLeft - Buffer.byteLength(event.tool.name));
        this.calls.set(event.index, { bare: event.kind === 'function' });
        kept.push(event);
        return;
      case 'tool-call-delta': {
        if (!this.calls.has(event.index)) {
          this.droppedLength += event.text.length;
          return;
        }
        const text = this.take(event.text);
        if (text === '') return;
        this.calls.set(event.index, { bare: false });
        kept.push({ ...event, text });
        return;
      }
      case 'tool-call-end': {
        const call = this.calls.get(event.index);
        if (call === undefined) return;
        if (call.bare) kept.push({ type: 'tool-call-delta', index: event.index, text: '{}' });
        kept.push(event);
        this.calls.delete(event.index);
        return;
      }
      case 'usage-report':
        kept.push({ ...event, usage: withinCap(event.usage, this.outputTokensMax) });
        return;
      case 'completion-finish':
        kept.push(this.hasDropped ? { ...event, reason: 'length' } : event);
        return;
      case 'upstream-start':
      case 'embedding-delta':
      case 'settlement-deferred':
      case 'attempts-report':
      case 'completion-failure':
        kept.push(event);
    }
  }

  /** Returns the beginning of the text that fits, in whole characters. Nothing fits after the first excess. */
  private take(text: string): string {
    if (this.hasDropped) {
      this.droppedLength += text.length;
      return '';
    }
    let fitting = '';
    for (const character of text) {
      const bytes = Buffer.byteLength(character);
      if (bytes > this.bytesLeft) {
        this.hasDropped = true;
        this.bytesLeft = 0;
        break;
      }
      this.bytesLeft -= bytes;
      fitting += character;
    }
    return fitting;
  }
}

/** Returns a parser of a stream under the cap; without one, the parser itself. */
export function underCap(parser: StreamParser, cap: OutputCap | undefined): StreamParser {
  return cap === undefined ? parser : new CappedParser(parser, cap);
}

/** Appends the events of a plain reply under the cap. */
export function readUnderCap(read: (events: StreamEvent[]) => void, cap: OutputCap | undefined, events: StreamEvent[]): void {
  if (cap === undefined) read(events);
  else cap.keep(read, events);
}

/** Returns the cap of a call whose upstream takes none; otherwise undefined. */
export function findMissingCap({ capabilities, outputTokensMax }: UpstreamCall): OutputCap | undefined {
  return capabilities.outputCap === false ? new OutputCap(outputTokensMax) : undefined;
}

class CappedParser implements StreamParser {
  constructor(
    private readonly parser: StreamParser,
    private readonly cap: OutputCap,
  ) {}

  get done(): boolean {
    return this.parser.done || this.cap.isOver;
  }

  get usageSoFar(): Usage | undefined {
    return this.parser.usageSoFar;
  }

  get tier(): string | undefined {
    return this.parser.tier;
  }

  get hasFinish(): boolean {
    return this.parser.hasFinish === true;
  }

  get finishReason(): FinishReason | undefined {
    return this.parser.finishReason;
  }

  push(payload: string, events: StreamEvent[]): void {
    this.cap.keep((all) => this.parser.push(payload, all), events);
  }

  end(events: StreamEvent[]): void {
    this.cap.keep((all) => this.parser.end(all), events);
  }
}
