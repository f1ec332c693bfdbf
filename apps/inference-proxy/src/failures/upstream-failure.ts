import type { ErrorCode } from '#inference/errors.js';
import type { InferenceRequest } from '#inference/request.js';
import { withoutKeys } from './known-keys.js';
import { withoutEcho } from './prompt-echo.js';

export type FailureKind =
  /** No connection was made: nothing was sent. */
  | 'unreachable'
  /** The socket closed before a byte of the reply: most likely an idle connection the other side had just given up. */
  | 'stale'
  /** The same of a new connection: the other side takes it, and closes it without a word. */
  | 'unanswered'
  /** The upstream answered with an error of its own. */
  | 'refused'
  /** The upstream does not serve us: a wrong key, an empty account. Nothing gets better until the operator acts. */
  | 'denied'
  /** The upstream rejects this very request; no other route would do better. */
  | 'rejected'
  /** Silence beyond a limit. */
  | 'timeout'
  /** The reply ended early, or is not what the dialect says. */
  | 'broken'
  /** A reply in good order, of nothing: no sign that the upstream is ill. */
  | 'empty'
  /** The reply is larger than any reply may be, or than all together have room for. */
  | 'limit';

/** Fit for clients. An upstream's own words are in `detail`, for the log alone. */
const MESSAGES = {
  context_length_exceeded: 'The prompt and the requested output do not fit the context window of the model.',
  unsupported_content: 'The model does not accept this content.',
  model_capacity: 'The model is at capacity. Please try again later.',
  model_unavailable: 'The model is temporarily unavailable. Please try again later.',
  upstream_error: 'The model failed to produce a response.',
  upstream_timeout: 'The model did not respond in time.',
  internal_error: 'An unexpected error occurred.',
} as const satisfies Partial<Record<ErrorCode, string>>;

const NO_OUTPUT = 'The model ended its reply without any output. Nothing is billed.';

export type UpstreamFailureCode = keyof typeof MESSAGES;

export interface UpstreamFailureOptions {
  /** What really happened, in any words. It is shortened and redacted here, and only ever logged. */
  detail?: string;
  /** The same, in words of ours alone: what they name is no secret, and they are only shortened. In place of `detail`. */
  reason?: string;
  /** When the upstream says that it wants to be asked again; absent when it says nothing. */
  retryAfterSeconds?: number;
  /** It is for the operator to mend, for all that can be told: what is denied, a missing model, an address that may not be called. */
  isOperatorsFault?: boolean;
  cause?: unknown;
}

/** The one way an upstream call fails, from the socket up to the dialect. `message` is ours and may reach the client. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  /** Fit for the log, and for operators. */
  detail: string;
  readonly retryAfterSeconds: number | undefined;
  readonly isOperatorsFault: boolean;
  /** The upstream's own words. Private in earnest: loggers write what they find on an error. */
  readonly #words: string | undefined;

  constructor(
    readonly kind: FailureKind,
    readonly code: UpstreamFailureCode,
    options: UpstreamFailureOptions = {},
  ) {
    super(kind === 'empty' ? NO_OUTPUT : MESSAGES[code], options.cause === undefined ? undefined : { cause: options.cause });
    this.#words = options.detail === undefined ? undefined : withoutKeys(options.detail).slice(0, WORDS_LENGTH_MAX);
    this.detail = options.reason === undefined ? redact(this.#words ?? kind) : shorten(withoutKeys(options.reason));
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.isOperatorsFault = options.isOperatorsFault ?? kind === 'denied';
  }

  /** The same, without what the upstream has repeated of the request: no prompt is in any log. */
  async withoutEcho(request: InferenceRequest): Promise<this> {
    if (this.#words !== undefined) this.detail = redact(await withoutEcho(this.#words, request));
    return this;
  }

  /** Whether another route may do better. Only asked while nothing has been returned. */
  get retryable(): boolean {
    const isOurs = this.kind === 'limit' && this.code !== 'upstream_error'; // the room of this process, and its faults, are the same everywhere
    return RETRYABLE[this.kind] && !isOurs;
  }
}

const RETRYABLE = {
  unreachable: true,
  stale: true,
  unanswered: true,
  refused: true,
  denied: true,
  broken: true,
  empty: true,
  timeout: true,
  rejected: false,
  limit: true,
} satisfies Record<FailureKind, boolean>;

export const FAILURE_KINDS = Object.keys(RETRYABLE) as readonly FailureKind[];
export const FAILURE_CODES = Object.keys(MESSAGES) as readonly UpstreamFailureCode[];

const DETAIL_LENGTH_MAX = 200;
/** Of an upstream's words before they are redacted: what is taken out makes room for others. */
const WORDS_LENGTH_MAX = 4 * DETAIL_LENGTH_MAX;

/** Shortens an upstream's text and takes out what may be a secret or a piece of somebody's prompt. */
export function redact(text: string): string {
  return shorten(
    withoutKeys(text)
      .slice(0, WORDS_LENGTH_MAX)
      .replace(/\b(bearer|basic)\s+\S+/gi, '$1 …')
      .replace(/\b(sk|pk|key|api|token|hf|gsk|xai)[-_][\w*-]{6,}/gi, '$1-…')
      .replace(/(["'`])(?:(?!\1)[^\\]|\\.){33,}\1/g, '$1…$1')
      .replace(/[A-Za-z0-9+/_=-]{41,}/g, '…'),
  );
}

/** In one line, which steers no terminal. */
function shorten(text: string): string {
  const clean = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return clean.length > DETAIL_LENGTH_MAX ? `${clean.slice(0, DETAIL_LENGTH_MAX)}…` : clean;
}

/** Returns the error itself where it is an upstream's failure; any other is a fault of our own. */
export function asFailure(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  return new UpstreamFailure('limit', 'internal_error', { detail: 'a fault of our own', cause: error });
}
