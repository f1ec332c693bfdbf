import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { AddressRefusedError } from './address-guard.js';
import { ConnectionFault, explainClose, explainNoHttp } from './connection-fault.js';
import { GrowingBuffer } from './growing-buffer.js';
import { HeldBytes } from './held-bytes.js';
import { observedOf, socketOpenedBy } from './upstream-pool.js';

/** Bytes of one reply in hand before its socket is paused; the rest of what the socket has read waits there. */
const BUFFERED_BYTES_MAX = 16 * 1024;
/** Each chunk costs a hundred bytes of its own, however small it is. */
const BUFFERED_CHUNKS_MAX = 512;
/** Heads like `103 Early Hints` before the reply's own. */
const INTERIMS_MAX = 32;
/** Bounds of what may follow the terminal event of a reply. Longer, and a call that needs the socket would notice. */
const DRAIN_MS = 100;
const DRAIN_BYTES_MAX = 64 * 1024;
/** Plain replies in hand, over all of them, besides the first MiB of each. Reading one takes some four times its bytes. */
const LARGE_REPLIES = new HeldBytes(64 * 1024 * 1024, 1024 * 1024);

export interface PostOptions extends ReplyLimits {
  path: string;
  headers: Record<string, string>;
  body: string | Buffer;
  /** Called when the request goes out on a connection. */
  onSent?: () => void;
}

export interface ReplyLimits {
  timeouts: {
    /** From now to the first byte of the body. */
    firstByteMs: number;
    /** Between two bytes after it; absent for replies that are limited as a whole. */
    idleMs?: number;
    /** From now to the last byte. */
    totalMs?: number;
  };
  /** The longest body taken. */
  bytesMax: number;
}

/**
 * Posts to an upstream and resolves with the head of its reply, any status. Redirects are not followed and compression is
 * not asked for. Rejects with `UpstreamFailure`; when `signal` fires, with its reason, and the socket is closed at once,
 * in every phase. The caller ends with `reply.close()`, whatever happened.
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

/** A reply as it arrives: whoever reads gets everything that is there, once a wake-up, and sets the pace of the socket. */
export class UpstreamReply implements Dispatcher.DispatchHandler {
  status = 0;
  headers: IncomingHttpHeaders = {};
  /** The one that was opened for this request alone. */
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
  private hurried = false;
  private interims = 0;
  private wake: () => void = () => {};
  private timer: NodeJS.Timeout | undefined;
  private readonly startedAt = performance.now();
  private readonly onAbort = (): void => this.giveUp(this.signal.reason);

  constructor(
    private limits: ReplyLimits,
    private readonly signal: AbortSignal,
    private readonly resolveHead: (reply: UpstreamReply) => void,
    private readonly rejectHead: (error: unknown) => void,
    private readonly onSent?: () => void,
  ) {
    const { firstByteMs, totalMs } = limits.timeouts;
    this.timer = setTimeout(() => this.fail(silence('no byte of a reply in time')), Math.min(firstByteMs, totalMs ?? firstByteMs));
    if (signal.aborted) this.onAbort();
    else signal.addEventListener('abort', this.onAbort, { once: true });
  }

  /** A header that came several times has all its values, as one list. */
  header(name: string): string | undefined {
    const value = this.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /** Everything received since the last call, or undefined at the end. One caller at a time. What came before a failure comes first. */
  async read(): Promise<Buffer[] | undefined> {
    if (this.chunks.length === 0 && !this.ended && !this.failed) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    if (this.chunks.length > 0) return this.take();
    if (this.failed) throw this.failure;
    return undefined;
  }

  /** The rest of the body. Large ones share a bound, so that no number of them fills the memory; `accountId` is whose share it counts in. */
  async readAll(accountId: string, first: Buffer[] = []): Promise<Buffer> {
    const body = new GrowingBuffer();
    const share = LARGE_REPLIES.open(accountId);
    try {
      for (let more: Buffer[] | undefined = first; more !== undefined; more = await this.read()) {
        for (const chunk of more) body.push(chunk);
        share.set(body.length);
      }
      return body.take();
    } finally {
      share.release();
    }
  }

  /** It turns out to be a reply of another kind: from now on these hold, and times still count from the request. After the first read. */
  limitTo(limits: ReplyLimits): void {
    this.limits = limits;
    if (!this.ended && !this.failed) this.startBodyTimer();
  }

  /** From now on the whole rest must come within `ms`, however steadily it drips. */
  hurry(ms: number): void {
    if (this.ended || this.failed) return;
    this.hurried = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fail(silence('the rest of the reply took too long')), ms);
  }

  /** Lets go of the reply: a body that has not ended is given up, with its socket. */
  close(): void {
    this.giveUp(new UpstreamFailure('broken', 'upstream_error', { detail: 'given up' }));
  }

  /** Lets a reply whose content is complete run out, so that its socket can serve again. Gives the socket up soon after. */
  drain(): void {
    if (this.ended || this.failed) return;
    this.settle();
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
      if (++this.interims > INTERIMS_MAX)
        this.fail(new UpstreamFailure('limit', 'upstream_error', { detail: 'interim replies without end' }));
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
    if (!this.hurried) {
      if (this.totalBytes === 0) this.startBodyTimer();
      else if (this.chunks.length === 0 && this.limits.timeouts.idleMs !== undefined) this.timer?.refresh();
    }
    this.totalBytes += chunk.length;
    if (this.totalBytes > this.limits.bytesMax) {
      this.fail(new UpstreamFailure('limit', 'upstream_error', { detail: `a reply of more than ${this.limits.bytesMax} bytes` }));
      return;
    }
    this.chunks.push(chunk);
    this.bufferedBytes += chunk.length;
    // The reader wakes in a microtask: after all chunks that the same read of the socket brought.
    this.wake();
    if (this.bufferedBytes > BUFFERED_BYTES_MAX || this.chunks.length > BUFFERED_CHUNKS_MAX) controller.pause();
  }

  onResponseEnd(): void {
    if (this.failed) return;
    this.ended = true;
    this.settle();
    this.wake();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.fail(this.failureOf(error));
  }

  private take(): Buffer[] {
    const taken = this.chunks;
    this.chunks = [];
    this.bufferedBytes = 0;
    if (this.controller?.paused) {
      // Silence is measured from here; what must end by a certain time must end by then.
      if (this.limits.timeouts.idleMs !== undefined && !this.hurried) this.timer?.refresh();
      this.controller.resume();
    }
    return taken;
  }

  private startBodyTimer(): void {
    clearTimeout(this.timer);
    const { idleMs, totalMs } = this.limits.timeouts;
    if (idleMs !== undefined) {
      const onIdle = (): void => {
        // Silence is the upstream's only while we are listening: a paused socket or unread bytes are our reader's pace.
        if (this.chunks.length > 0 || this.controller?.paused) this.timer?.refresh();
        else this.fail(silence('the stream fell silent'));
      };
      this.timer = setTimeout(onIdle, idleMs);
    } else if (totalMs !== undefined) {
      const left = Math.max(1, totalMs - (performance.now() - this.startedAt));
      this.timer = setTimeout(() => this.fail(silence('the reply took too long')), left);
    }
  }

  private fail(error: unknown): void {
    if (this.failed || this.ended) return;
    this.failed = true;
    this.failure = error;
    this.settle();
    if (this.controller !== undefined) this.controller.abort(asError(error));
    else this.newSocket?.destroy(asError(error)); // not connected yet: nobody else waits for it
    this.rejectHead(error);
    this.wake();
  }

  private giveUp(reason: unknown): void {
    this.chunks = [];
    this.fail(reason);
  }

  private settle(): void {
    clearTimeout(this.timer);
    this.signal.removeEventListener('abort', this.onAbort);
  }

  private failureOf(error: Error): UpstreamFailure {
    if (error instanceof ConnectionFault) return unreachable(error, error.message, error.isOperatorsFault);
    const detail = [(error as NodeJS.ErrnoException).code, error.message].filter(Boolean).join(' ');
    const options = { detail, cause: error };
    if (this.controller === undefined) return unreachable(error, detail, error instanceof AddressRefusedError);
    const observed = this.status === 0 ? observedOf(this.newSocket) : undefined;
    const fault = observed && (observed.fault ?? explainNoHttp((error as { data?: unknown }).data, observed.peer));
    if (fault !== undefined) return unreachable(fault, fault.message, true);
    if ((error as NodeJS.ErrnoException).code === 'UND_ERR_HEADERS_OVERFLOW')
      return new UpstreamFailure('limit', 'upstream_error', options);
    if (this.status === 0 && isConnectionLoss(error)) {
      if (observed === undefined) return new UpstreamFailure('stale', 'upstream_error', options);
      const cause = explainClose(observed.peer);
      return new UpstreamFailure('unanswered', 'upstream_error', { reason: cause.message, cause });
    }
    return new UpstreamFailure('broken', 'upstream_error', options);
  }
}

/** No word of it is the upstream's. */
function unreachable(cause: Error, reason: string, isOperatorsFault: boolean): UpstreamFailure {
  return new UpstreamFailure('unreachable', 'model_unavailable', { reason, cause, isOperatorsFault });
}

const CONNECTION_LOSS = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE']);

function isConnectionLoss(error: Error): boolean {
  return CONNECTION_LOSS.has((error as NodeJS.ErrnoException).code ?? '');
}

function silence(detail: string): UpstreamFailure {
  return new UpstreamFailure('timeout', 'upstream_timeout', { detail });
}

function asError(value: unknown): Error {
  return value instanceof Error ? value : new Error('aborted', { cause: value });
}
