import { type ErrorCode, GatewayError, type GatewayErrorOptions } from '#inference/errors.js';
import type { BodyKind, LargeBody } from './parse-large-body.js';

/** A job for a worker thread. A thread gets its next job after it has answered. */
export interface BodyJob {
  kind: BodyKind;
  body: Uint8Array;
}

export type BodyAnswer =
  | { parsed: LargeBody }
  | { refusal: { code: ErrorCode; message: string; options: GatewayErrorOptions } }
  /** An internal error, as text. */
  | { failure: string };

/** Renders an error for the main thread: a structured clone of a `GatewayError` would lose its class and fields. */
export function renderFailure(error: unknown): BodyAnswer {
  if (!(error instanceof GatewayError)) return { failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  const { code, message, param, status, type, retryAfterSeconds } = error;
  return { refusal: { code, message, options: { param, status, type, retryAfterSeconds } } };
}

/** Returns the parsed body, or throws the error that the worker rendered. */
export function readAnswer(answer: BodyAnswer): LargeBody {
  if ('parsed' in answer) return answer.parsed;
  if ('refusal' in answer) throw new GatewayError(answer.refusal.code, answer.refusal.message, answer.refusal.options);
  throw workerFailed(new Error(answer.failure));
}

export function workerFailed(cause: Error): GatewayError {
  return new GatewayError('internal_error', 'The gateway failed to read the request body.', { cause });
}
