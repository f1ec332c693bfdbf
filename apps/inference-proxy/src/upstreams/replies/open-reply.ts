import type { FinishReason, StreamEvent } from '#inference/stream-event.js';
import type { Usage } from '#inference/usage.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { endReply } from './end-reply.js';
import { worseReason } from './finish-words.js';
import { ToolCallAssembler, type ToolCallPiece } from './tool-call-assembler.js';

/** A reply that is being read, in dialects in which usage and the end follow the finish reason. */
export class OpenReply {
  finishReason: FinishReason | undefined;
  /** True when content followed the last finish reason. */
  private isFinishEarly = false;
  private hasContent = false;
  private readonly calls: ToolCallAssembler;

  constructor({ request }: UpstreamCall) {
    this.calls = new ToolCallAssembler(request.tools);
  }

  get hasFinish(): boolean {
    return this.finishReason !== undefined && !this.isFinishEarly;
  }

  pushText(type: 'text-delta' | 'reasoning-delta', text: string, events: StreamEvent[]): void {
    if (text === '') return;
    events.push({ type, text });
    this.hasContent = true;
    this.isFinishEarly = this.finishReason !== undefined;
  }

  pushCall(piece: ToolCallPiece, events: StreamEvent[]): void {
    this.calls.push(piece, events);
    this.isFinishEarly = this.finishReason !== undefined;
  }

  /** Call when the call at this index is complete. */
  endCall(index: number, events: StreamEvent[]): void {
    this.calls.endAt(index, events);
  }

  /** Takes the finish reason of an event that may have one. */
  readFinish(reason: FinishReason | undefined): void {
    if (reason !== undefined) this.isFinishEarly = false;
    this.finishReason = worseReason(this.finishReason, reason);
  }

  /** Ends the reply, or throws when it is incomplete. `isWhole`: the upstream has sent its end marker, or the whole reply at once. */
  end(usage: Usage | undefined, isWhole: boolean, events: StreamEvent[]): void {
    const reason = this.finishReason ?? (isWhole && (this.hasContent || this.calls.count > 0) ? 'stop' : undefined);
    if (reason === undefined) {
      const detail = isWhole ? 'empty reply' : 'stream ended without a finish reason';
      throw new UpstreamFailure('broken', 'upstream_error', { detail });
    }
    endReply(this.calls, usage, reason, events);
  }
}

/** Returns a word of a call, such as its name; undefined for anything else. */
export function readWord(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
