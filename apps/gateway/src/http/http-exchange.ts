import { randomUUIDv7 } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ResolvedKey } from '#contracts/billing/keys.js';
import { GatewayError } from '#inference/errors.js';
import type { InferenceRecord } from '../pipeline/run-inference.js';

/** One HTTP request and its reply: what every layer needs to know of it, and what the access log will say. */
export class Exchange {
  /**
   * An opaque unique suffix, shared by the request's id and the reply's, so that one leads to the other. It grows with time: the
   * journal is indexed by it, and an index is written most cheaply at its end.
   */
  readonly id = randomUUIDv7().replaceAll('-', '');
  readonly requestId = `req_${this.id}`;
  readonly startedAt = performance.now();
  /** The path of the route, not of the URL; `unknown` where there is none. */
  route = 'unknown';
  /** What the connection brought in place of the rest of this request cannot be read. */
  isUnreadable = false;
  /** The client sends its body only when told to (`Expect: 100-continue`). */
  awaitsContinue = false;
  caller: ResolvedKey | undefined;
  /** The client's IP address, behind trusted proxies too; empty where the connection was gone already. */
  address = '';
  /** The error the client was told, by status or within the stream. */
  error: GatewayError | undefined;
  firstContentAt: number | undefined;
  /** Set on generation requests. */
  inference: InferenceRecord | undefined;
  /** What goes on after the connection may have closed, such as the settlement of a client that left. */
  work: Promise<unknown> | undefined;
  /** Bytes of request body that count against all bodies in flight. */
  bodyBytes = 0;
  private readonly stopping = new AbortController();

  /** Aborts when the exchange is not to go on; `stopError` has what its client is to be told. */
  get stopped(): AbortSignal {
    return this.stopping.signal;
  }

  /** With what the client is to be told; without when it is gone. The first call counts. */
  stop(error?: GatewayError): void {
    this.stopping.abort(error);
  }
}

/** The caller of a guarded route. Throws `internal_error` on any other. */
export function callerOf({ caller }: Exchange): ResolvedKey {
  if (!caller) throw new GatewayError('internal_error', 'The route is not guarded.');
  return caller;
}

/** A request on its way through the gateway; the server's first act is to attach the exchange. */
export type GatewayRequest = IncomingMessage & { exchange: Exchange };
