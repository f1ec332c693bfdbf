import type { Actor } from '#contracts/audit.js';
import type { TraceContext } from '#tracing/trace-context.js';
import type { LocalStream } from './local-stream.js';

/** A request of this process. `payload` belongs to the service: the caller keeps no reference to it. */
export interface LocalRequest {
  payload: unknown;
  /** Size of the payload as JSON. */
  bytes: number;
  sender: LocalSender;
}

/** The part of a request that its context keeps, which may live longer than the payload should. */
export interface LocalSender {
  trace: TraceContext | undefined;
  actor: Actor | undefined;
  /** The service that calls, for a recorded endpoint. */
  via: string | null;
  /** False when the caller has stopped, while the service of this process goes on. */
  isCallerThere(): boolean;
}

/** An endpoint that a service of this process serves. */
export interface LocalEndpoint {
  /** Resolves with the reply as it would be parsed from JSON. Rejects with a `ServiceError`. */
  answer(request: LocalRequest): Promise<unknown>;
  /** Opens the source of a stream. */
  open(request: LocalRequest, stream: LocalStream<unknown>): void;
}

/** The endpoints that the services of this process serve: calls between them need no NATS. */
export class LocalExchange {
  private readonly endpoints = new Map<string, LocalEndpoint>();

  /** Returns the function that withdraws the endpoint. */
  offer(subject: string, endpoint: LocalEndpoint): () => void {
    this.endpoints.set(subject, endpoint);
    return () => this.endpoints.delete(subject);
  }

  find(subject: string): LocalEndpoint | undefined {
    return this.endpoints.get(subject);
  }
}
