import type { ErrorCode } from '#inference/errors.js';

/** Codes of errors between services: the codes that clients get, and four for internal callers. */
export type ServiceErrorCode = ErrorCode | 'permission_denied' | 'not_found' | 'conflict' | 'unavailable';

/** Figures of a refusal by name: amounts as integer strings of pico-USD. */
export type ServiceErrorDetails = Readonly<Record<string, string>>;

/** A refusal, sent in message headers and as a JSON body. Any caller may see `message`. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly details: ServiceErrorDetails | undefined;

  constructor(
    readonly code: ServiceErrorCode,
    message: string,
    /** The request field at fault. */
    readonly param?: string,
    { details, ...options }: { cause?: unknown; details?: ServiceErrorDetails } = {},
  ) {
    super(message, options);
    this.details = details;
  }
}
