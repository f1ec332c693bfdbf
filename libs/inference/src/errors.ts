/** The `type` field of a client error body. */
type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'insufficient_balance_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'api_error';

/** Every error code that a client can receive, with its HTTP status and type. */
export const ERROR_CODES = {
  invalid_json: { status: 400, type: 'invalid_request_error' },
  invalid_request: { status: 400, type: 'invalid_request_error' },
  unsupported_parameter: { status: 400, type: 'invalid_request_error' },
  unsupported_content: { status: 400, type: 'invalid_request_error' },
  image_url_not_supported: { status: 400, type: 'invalid_request_error' },
  context_length_exceeded: { status: 400, type: 'invalid_request_error' },
  invalid_api_key: { status: 401, type: 'authentication_error' },
  authentication_required: { status: 401, type: 'authentication_error' },
  insufficient_balance: { status: 402, type: 'insufficient_balance_error' },
  origin_not_allowed: { status: 403, type: 'permission_error' },
  model_not_found: { status: 404, type: 'not_found_error' },
  request_too_large: { status: 413, type: 'invalid_request_error' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error' },
  concurrency_limit: { status: 429, type: 'rate_limit_error' },
  model_capacity: { status: 429, type: 'rate_limit_error' },
  internal_error: { status: 500, type: 'api_error' },
  upstream_error: { status: 502, type: 'api_error' },
  model_unavailable: { status: 503, type: 'api_error' },
  upstream_timeout: { status: 504, type: 'api_error' },
} as const satisfies Record<string, { status: number; type: ErrorType }>;

export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(value: unknown): value is ErrorCode {
  return typeof value === 'string' && Object.hasOwn(ERROR_CODES, value);
}

/** Things that refuse a request: the balance, a budget, or a limit of the key, its project or its account. */
export const REFUSING_LIMITS = ['balance', 'budget', 'key', 'project', 'account'] as const;
export type RefusingLimit = (typeof REFUSING_LIMITS)[number];

/** The thing that refused a request. Reported to the operator's services, never sent to a client. */
export interface Refusal {
  by: RefusingLimit;
  /** Only with `budget`. */
  budgetId?: string;
}

export interface GatewayErrorOptions {
  /** The request field at fault, as a path in the client's format: `messages[2].content[0].image_url`. */
  param?: string;
  /** The underlying error. Logged, never sent to a client. */
  cause?: unknown;
  /** Whole seconds from 1 to 60, sent as `Retry-After`. */
  retryAfterSeconds?: number;
  /** Overrides the status of the code, for HTTP conditions without a code of their own: 405, 415, unknown path. */
  status?: number;
  type?: ErrorType;
  refusal?: Refusal;
  /** Stands in journals for a `message` with words of another program, which may repeat the prompt. */
  recordedMessage?: string;
}

/** A control character is six characters of JSON text, and agents show the message in one line. */
const QUOTED_LENGTH_MAX = 100;

/** Returns the first 100 characters of a client's word, such as a model's id, for an error: its message and `param` stay short. */
export function shortened(word: string): string {
  return word.length > QUOTED_LENGTH_MAX ? `${word.slice(0, QUOTED_LENGTH_MAX)}…` : word;
}

/** The only error that reaches a client. Its `message` is sent unchanged. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly type: ErrorType;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly refusal: Refusal | undefined;
  readonly recordedMessage: string;

  constructor(code: ErrorCode, message: string, options: GatewayErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? ERROR_CODES[code].status;
    this.type = options.type ?? ERROR_CODES[code].type;
    this.param = options.param;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.refusal = options.refusal;
    this.recordedMessage = options.recordedMessage ?? message;
  }
}
