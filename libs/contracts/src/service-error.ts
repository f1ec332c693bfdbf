import type { ErrorCode } from '#inference/errors.js';

/** What one service may say to another: the client codes of the spec, and three that only internal callers see. */
export type ServiceErrorCode = ErrorCode | 'not_found' | 'conflict' | 'unavailable';

/** A refusal of a service, carried in message headers. `message` is safe to show to whoever called. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';

  constructor(
    readonly code: ServiceErrorCode,
    message: string,
    /** The request field at fault. */
    readonly param?: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}
