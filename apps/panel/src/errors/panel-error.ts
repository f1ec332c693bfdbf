import { ERROR_CODES, type ErrorCode } from '#inference/errors.js';
import type { PanelErrorBody } from '../shapes/error.js';

type ErrorType = (typeof ERROR_CODES)[ErrorCode]['type'] | 'conflict_error';

/** Every error code of the panel, with its HTTP status and type. Those of the gateway mean the same here. */
export const PANEL_ERROR_CODES = {
  invalid_request: ERROR_CODES.invalid_request,
  invalid_json: ERROR_CODES.invalid_json,
  authentication_required: ERROR_CODES.authentication_required,
  invalid_credentials: { status: 401, type: 'authentication_error' },
  second_factor_required: { status: 401, type: 'authentication_error' },
  insufficient_balance: ERROR_CODES.insufficient_balance,
  origin_not_allowed: ERROR_CODES.origin_not_allowed,
  permission_denied: { status: 403, type: 'permission_error' },
  confirmation_required: { status: 403, type: 'permission_error' },
  not_found: { status: 404, type: 'not_found_error' },
  conflict: { status: 409, type: 'conflict_error' },
  request_too_large: ERROR_CODES.request_too_large,
  rate_limit_exceeded: ERROR_CODES.rate_limit_exceeded,
  internal_error: ERROR_CODES.internal_error,
  unavailable: { status: 503, type: 'api_error' },
  // Refusals of the gateway, which the playground passes on.
  unsupported_content: ERROR_CODES.unsupported_content,
  image_url_not_supported: ERROR_CODES.image_url_not_supported,
  context_length_exceeded: ERROR_CODES.context_length_exceeded,
  model_not_found: ERROR_CODES.model_not_found,
  concurrency_limit: ERROR_CODES.concurrency_limit,
  model_capacity: ERROR_CODES.model_capacity,
  upstream_error: ERROR_CODES.upstream_error,
  model_unavailable: ERROR_CODES.model_unavailable,
  upstream_timeout: ERROR_CODES.upstream_timeout,
} as const satisfies Record<string, { status: number; type: ErrorType }>;

export type PanelErrorCode = keyof typeof PANEL_ERROR_CODES;

export function isPanelErrorCode(code: string): code is PanelErrorCode {
  return Object.hasOwn(PANEL_ERROR_CODES, code);
}

interface PanelErrorOptions {
  /** The field at fault, of the body or the query. */
  param?: string | undefined;
  /** Logged, never sent. */
  cause?: unknown;
  /** Sent with the error. */
  details?: Readonly<Record<string, string>> | undefined;
  /** Whole seconds, sent as `Retry-After`. */
  retryAfterSeconds?: number | undefined;
  /** Overrides the status of the code: 405, 408. */
  status?: number;
}

/** The only error that reaches a caller of the panel. Its `message` is sent unchanged. */
export class PanelError extends Error {
  override readonly name = 'PanelError';
  readonly status: number;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly details: Readonly<Record<string, string>> | undefined;

  constructor(
    readonly code: PanelErrorCode,
    message: string,
    { param, cause, details, retryAfterSeconds, status = PANEL_ERROR_CODES[code].status }: PanelErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.param = param;
    this.retryAfterSeconds = retryAfterSeconds;
    this.details = details;
  }

  /** The body of the reply. */
  get body(): PanelErrorBody {
    const { code, message, param = null, details } = this;
    return { error: { message, type: PANEL_ERROR_CODES[code].type, param, code, ...(details && { details }) } };
  }
}

/** Thrown when the client closes the connection before its request is complete, or before its reply has begun. No reply can be sent, and nothing is wrong with the panel. */
export class ClientLeftError extends Error {
  override readonly name = 'ClientLeftError';

  constructor() {
    super('the client left before it had a reply');
  }
}
