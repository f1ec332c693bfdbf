import type { ErrorCode } from '#inference/errors.js';

/** What one service may say to another: the client codes of the spec, and three that only internal callers see. */
export type ServiceErrorCode = ErrorCode | 'not_found' | 'conflict' | 'unavailable';

/** Figures of a refusal by name, for programs: amounts as integer strings of pico-USD. */
export type ServiceErrorDetails = Readonly<Record<string, string>>;

/** A refusal of a service, carried in message headers and as a JSON body. `message` is safe to show to whoever called. */
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
