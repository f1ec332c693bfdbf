import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { AddressRefusedError } from '#network/address-guard.js';
import { ConnectionFault, explainClose, explainNoHttp } from '../failures/connection-fault.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { GrowingBuffer } from './growing-buffer.js';
import { HeldBytes } from './held-bytes.js';
import { findObserved, socketOpenedBy } from './upstream-pool.js';

/** Unread bytes of one reply above which its socket is paused. */
const BUFFERED_BYTES_MAX = 16 * 1024;
/** Unread chunks above which the socket is paused: each takes a hundred bytes of its own. */
const BUFFERED_CHUNKS_MAX = 512;
/** Interim heads, like `103 Early Hints`, before that of the reply. */
const INTERIMS_MAX = 32;
/** Limits on what may follow the end of a reply before its socket is reused. Longer, and a call that needs the socket would wait. */
const DRAIN_MS = 100;
const DRAIN_BYTES_MAX = 64 * 1024;
/** Blank bytes of one chunk that may be a heartbeat. More come from a reply that has not ended. */
const HEARTBEAT_BYTES_MAX = 1024;
/** Bytes of plain replies over all requests, beyond the first MiB of each. Parsing one takes about four times its bytes. */
const LARGE_REPLIES = new HeldBytes(64 * 1024 * 1024, 1024 * 1024);

export interface PostOptions extends TransferLimits {
  path: string;
  headers: Record<string, string>;
  body: string | Buffer;
  /** Called when the request is written to a connection. */
  onSent?: () => void;
}

export interface TransferLimits {
  timeouts: {
    /** From the request to the first byte of the body; absent for plain replies, whose first byte comes when they are complete. */
    firstByteMs?: number;
    /** Between two bytes after it; absent for plain replies. */
    idleMs?: number;
    /** From the request to the last byte; absent for streams. */
    totalMs?: number;
  };
  /** Longest body, in bytes. */
  bytesMax: number;
}

/** Silence after which a body that is whole counts as ended, although its connection is open. */
interface Pause {
  ms: number;
  isWhole(body: Buffer): boolean;
}

/**
 * Posts to an upstream and resolves with the head of its reply, whatever its status. Follows no redirects and asks for no compression.
 * Rejects with `UpstreamFailure`, or with the reason of `signal` when that fires; the socket is then closed at once, in every phase. The
 * caller must call `reply.close()` at the end.
 */
export function postStream(pool: Dispatcher, options: PostOptions, signal: AbortSignal): Promise<UpstreamReply> {
  return new Promise((resolve, reject) => {
    const { path, headers, body, onSent, ...limits } = options;
    const reply = new UpstreamReply(limits, signal, resolve, reject, onSent);
    if (signal.aborted) return;
    const request = { method: 'POST', path, headers: { ...headers, 'accept-encoding': 'identity' }, body } as const;
    reply.newSocket = socketOpenedBy(() => pool.dispatch(request, reply));
  });
}

/** A reply as it arrives. Each read returns everything received so far, and the reader sets the pace of the socket. */
export class UpstreamReply implements Dispatcher.DispatchHandler {
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** Socket that was opened for this request; undefined when it reuses one. */
  newSocket: Socket | undefined;

  private controller: Dispatcher.DispatchController | undefined;
  private chunks: Buffer[] = [];
  private bufferedBytes = 0;
  private totalBytes = 0;
  private ended = false;
  private failure: unknown;
  private failed = false;
  private draining = false;
  private drained = 0;
  private hasDeadline = false;
  private interims = 0;
  private wake: () => void = () => {};
  private timer: NodeJS.Timeout | undefined;
  private readonly startedAt = performance.now();
  private readonly onAbort = (): void => this.giveUp(this.signal.reason);

  constructor(
    private limits: TransferLimits,
    private readonly signal: AbortSignal,
    private readonly resolveHead: (reply: UpstreamReply) => void,
    private readonly rejectHead: (error: unknown) => void,
    private readonly onSent?: () => void,
  ) {
    const { firstByteMs } = limits.timeouts;
    if (firstByteMs === undefined) this.startBodyTimer();
    else this.timer = setTimeout(() => this.fail(timedOut('no first byte in time')), firstByteMs);
    if (signal.aborted) this.onAbort();
    else signal.addEventListener('abort', this.onAbort, { once: true });
  }

  /** Returns a header; the values of a repeated one joined by commas. */
  header(name: string): string | undefined {
    const value = this.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /**
   * Returns everything received since the last call; undefined at the end; nothing when nothing comes within `withinMs`. Bytes before a
   * failure come first. One caller at a time.
   */
  async read(withinMs?: number): Promise<Buffer[] | undefined> {
    if (this.chunks.length === 0 && !this.ended && !this.failed) {
      await new Promise<void>((resolve) => {
        const timer = withinMs === undefined ? undefined : setTimeout(resolve, withinMs);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    if (this.chunks.length > 0) return this.take();
    if (this.failed) throw this.failure;
    return this.ended ? undefined : [];
  }

  /**
   * Returns the rest of the body, up to its end, or up to a pause or a break of the connection that comes when nothing is missing; the socket
   * is then closed. Large bodies share a memory limit, in which they count for `accountId`.
   */
  async readAll(accountId: string, first: Buffer[] = [], pause?: Pause): Promise<Buffer> {
    const body = new GrowingBuffer();
    const share = LARGE_REPLIES.open(accountId);
    try {
      let changedAt = performance.now();
      let isNew = true;
      const next = async (): Promise<Buffer[] | undefined> => {
        try {
          return await this.read(isNew ? pause?.ms : undefined);
        } catch (error) {
          const soFar = body.take();
          if (pause === undefined || !isBreak(error) || !pause.isWhole(soFar)) throw error;
          body.push(soFar);
          return undefined;
        }
      };
      for (let more: Buffer[] | undefined = first; more !== undefined; more = await next()) {
        for (const chunk of more) body.push(chunk);
        share.set(body.length);
        if (more.some((chunk) => chunk.length > HEARTBEAT_BYTES_MAX || !isBlank(chunk))) {
          changedAt = performance.now();
          isNew = true;
          continue;
        }
        // A few blank bytes keep a connection alive; they are no part of the reply.
        if (!isNew || pause === undefined || performance.now() - changedAt < pause.ms) continue;
        isNew = false;
        const soFar = body.take();
        if (pause.isWhole(soFar)) {
          this.close();
          return soFar;
        }
        body.push(soFar);
      }
      return body.take();
    } finally {
      share.release();
    }
  }

  /** Replaces the limits when the reply is of another kind than expected. Times still count from the request. Call after the first read. */
  limitTo(limits: TransferLimits): void {
    this.limits = limits;
    if (!this.ended && !this.failed) this.startBodyTimer();
  }

  /** Requires that the whole rest arrives within `ms`. */
  setDeadline(ms: number): void {
    if (this.ended || this.failed) return;
    this.hasDeadline = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fail(timedOut('rest of the reply took too long')), ms);
  }

  /** Releases the reply. If the body has not ended, its socket is closed. */
  close(): void {
    this.giveUp(new UpstreamFailure('broken', 'upstream_error', { detail: 'closed by the caller' }));
  }

  /** Discards the rest of a complete reply so that its socket can be reused. Closes the socket if the reply does not end soon. */
  drain(): void {
    if (this.ended || this.failed) return;
    this.cleanUp();
    this.draining = true;
    this.timer = setTimeout(() => this.close(), DRAIN_MS);
    this.take();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.failed) controller.abort(asError(this.failure));
    else this.onSent?.();
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) {
      if (++this.interims > INTERIMS_MAX) this.fail(new UpstreamFailure('limit', 'upstream_error', { detail: 'too many interim replies' }));
      return;
    }
    this.status = status;
    this.headers = headers;
    this.resolveHead(this);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.failed) return;
    if (this.draining) {
      this.drained += chunk.length;
      if (this.drained > DRAIN_BYTES_MAX) this.close();
      return;
    }
    if (!this.hasDeadline) {
      const { firstByteMs, idleMs } = this.limits.timeouts;
      if (this.totalBytes === 0 && firstByteMs !== undefined) this.startBodyTimer();
      else if (this.chunks.length === 0 && idleMs !== undefined) this.timer?.refresh();
    }
    this.totalBytes += chunk.length;
    if (this.totalBytes > this.limits.bytesMax) {
      this.fail(new UpstreamFailure('limit', 'upstream_error', { detail: `reply of more than ${this.limits.bytesMax} bytes` }));
      return;
    }
    this.chunks.push(chunk);
    this.bufferedBytes += chunk.length;
    // The reader wakes in a microtask, so after all chunks of this read of the socket.
    this.wake();
    if (this.bufferedBytes > BUFFERED_BYTES_MAX || this.chunks.length > BUFFERED_CHUNKS_MAX) controller.pause();
  }

  onResponseEnd(): void {
    if (this.failed) return;
    this.ended = true;
    this.cleanUp();
    this.wake();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.fail(this.toFailure(error));
  }

  private take(): Buffer[] {
    const taken = this.chunks;
    this.chunks = [];
    this.bufferedBytes = 0;
    if (this.controller?.paused) {
      // The idle timeout restarts here; a deadline does not.
      if (this.limits.timeouts.idleMs !== undefined && !this.hasDeadline) this.timer?.refresh();
      this.controller.resume();
    }
    return taken;
  }

  private startBodyTimer(): void {
    clearTimeout(this.timer);
    const { idleMs, totalMs } = this.limits.timeouts;
    if (idleMs !== undefined) {
      const onIdle = (): void => {
        // A paused socket or unread bytes mean that the reader is slow, not the upstream.
        if (this.chunks.length > 0 || this.controller?.paused) this.timer?.refresh();
        else this.fail(timedOut('stream idle for too long'));
      };
      this.timer = setTimeout(onIdle, idleMs);
    } else if (totalMs !== undefined) {
      const left = Math.max(1, totalMs - (performance.now() - this.startedAt));
      this.timer = setTimeout(
        () => this.fail(new UpstreamFailure('slow', 'upstream_timeout', { detail: 'no complete reply within totalMs' })),
        left,
      );
    }
  }

  private fail(error: unknown): void {
    if (this.failed || this.ended) return;
    this.failed = true;
    this.failure = error;
    this.cleanUp();
    if (this.controller !== undefined) this.controller.abort(asError(error));
    else this.newSocket?.destroy(asError(error)); // not connected yet; no other request uses it
    this.rejectHead(error);
    this.wake();
  }

  private giveUp(reason: unknown): void {
    this.chunks = [];
    this.fail(reason);
  }

  private cleanUp(): void {
    clearTimeout(this.timer);
    this.signal.removeEventListener('abort', this.onAbort);
  }

  private toFailure(error: Error): UpstreamFailure {
    if (error instanceof ConnectionFault) return unreachable(error, error.message, error.isOperatorsFault);
    const detail = [(error as NodeJS.ErrnoException).code, error.message].filter(Boolean).join(' ');
    const options = { detail, cause: error };
    if (this.controller === undefined) return unreachable(error, detail, error instanceof AddressRefusedError);
    const observed = this.status === 0 ? findObserved(this.newSocket) : undefined;
    const fault = observed && (observed.fault ?? explainNoHttp((error as { data?: unknown }).data, observed.peer));
    if (fault !== undefined) return unreachable(fault, fault.message, true);
    if ((error as NodeJS.ErrnoException).code === 'UND_ERR_HEADERS_OVERFLOW')
      return new UpstreamFailure('limit', 'upstream_error', options);
    if (this.status === 0 && isConnectionLoss(error)) {
      if (observed === undefined) return new UpstreamFailure('stale', 'upstream_error', options);
      const cause = explainClose(observed.peer);
      return new UpstreamFailure('unanswered', 'upstream_error', { detail: cause.message, cause });
    }
    return new UpstreamFailure('broken', 'upstream_error', options);
  }
}

function unreachable(cause: Error, detail: string, isOperatorsFault: boolean): UpstreamFailure {
  return new UpstreamFailure('unreachable', 'model_unavailable', { detail, cause, isOperatorsFault });
}

export function isBlank(chunk: Buffer): boolean {
  return chunk.every((byte) => byte <= 0x20);
}

const CONNECTION_LOSS = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

function isBreak(error: unknown): boolean {
  return error instanceof UpstreamFailure && error.kind === 'broken';
}

function isConnectionLoss(error: Error): boolean {
  return CONNECTION_LOSS.has((error as NodeJS.ErrnoException).code ?? '');
}

function timedOut(detail: string): UpstreamFailure {
  return new UpstreamFailure('timeout', 'upstream_timeout', { detail });
}

function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error('aborted', { cause: value });
}
