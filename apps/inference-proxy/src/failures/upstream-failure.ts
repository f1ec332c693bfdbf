import type { ErrorCode } from '#inference/errors.js';
import { withoutKeys } from './known-keys.js';

export type FailureKind =
  /** No connection was made; nothing was sent. */
  | 'unreachable'
  /** A reused connection closed before the first byte of the reply. The upstream had most likely just given it up as idle. */
  | 'stale'
  /** A new connection closed before the first byte of the reply. */
  | 'unanswered'
  /** The upstream answered with an error of its own. */
  | 'refused'
  /** The upstream rejects our key or account. No call succeeds until the operator acts. */
  | 'denied'
  /** There is no token or signature for the call: nothing was sent, and nothing is known about the upstream. */
  | 'credential'
  /** The upstream rejects this request; no other route would accept it. */
  | 'rejected'
  /** A time limit passed. */
  | 'timeout'
  /** A plain reply was not complete within `totalMs`. A long reply takes as long as its tokens do, so the upstream may work. */
  | 'slow'
  /** The reply ended early, or breaks the dialect. */
  | 'broken'
  /** A well-formed reply without content. The upstream works. */
  | 'empty'
  /** The reply exceeds a limit of its own, or one that all replies share. */
  | 'limit';

/** Messages for clients. Only that of a rejected request ends with the upstream's own text (`UpstreamFailureOptions.rejection`). */
const MESSAGES = {
  invalid_request: "The model's server rejected this request.",
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

/** Subject of an upstream's refusal, judged from its status, code and text. */
export type RefusalFamily =
  | 'no-credit'
  | 'access-denied'
  | 'rate-limit'
  | 'overloaded'
  | 'model-missing'
  | 'context-overflow'
  | 'image'
  | 'content-policy'
  | 'model-output'
  | 'timeout'
  | 'bad-request'
  | 'forbidden'
  | 'other';

/** An upstream's refusal as it may be logged: without its free text, which can repeat the prompt. */
interface LoggedRefusal {
  family: RefusalFamily;
  /** HTTP status of the reply, or the one that an error within a stream names. */
  status: number | undefined;
  /** Machine-readable code or type. */
  upstreamCode: string | undefined;
}

export interface UpstreamFailureOptions {
  /** Description in our own words or those of the system. Logged, and shown to operators. Default: the kind. */
  detail?: string;
  refusal?: LoggedRefusal;
  /** The upstream's reason for rejecting the request, fit to be shown to the client. May repeat the prompt, so never log `message`. */
  rejection?: string;
  /** The upstream's own text. Never logged; only the probe command shows it. */
  upstreamText?: string;
  /** Seconds after which the upstream wants to be called again; absent when it does not say. */
  retryAfterSeconds?: number;
  /** True when the operator has to act: a denied key, a missing model, a forbidden address. Default: true for `denied`. */
  isOperatorsFault?: boolean;
  cause?: unknown;
}

/** The one way an upstream call fails, from the socket up to the dialect. `message` may be sent to the client. */
export class UpstreamFailure extends Error {
  override readonly name = 'UpstreamFailure';
  readonly detail: string;
  readonly refusal: LoggedRefusal | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly isOperatorsFault: boolean;
  /** `#private`, because loggers serialise every own property of an error. */
  readonly #upstreamText: string | undefined;

  constructor(
    readonly kind: FailureKind,
    readonly code: UpstreamFailureCode,
    options: UpstreamFailureOptions = {},
  ) {
    super(composeMessage(kind, code, options.rejection), options.cause === undefined ? undefined : { cause: options.cause });
    this.refusal = options.refusal;
    this.detail = printable(options.detail ?? describe(options.refusal) ?? kind);
    this.#upstreamText = options.upstreamText;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.isOperatorsFault = options.isOperatorsFault ?? kind === 'denied';
  }

  /** The upstream's own text, shortened and without known keys, for the operator who probes it. Empty when it sent none. */
  get upstreamText(): string {
    return printable(this.#upstreamText ?? '');
  }

  /** True when another route may do better. Asked only while nothing has been returned. */
  get retryable(): boolean {
    // Another dialect may express the request; `Attempts` tries no further route of the same dialect. Another model may do better.
    if (this.kind === 'rejected') return this.code === 'invalid_request' || this.code === 'upstream_error';
    // Limits that all replies of this process share, and its own faults, would meet the next call too.
    return this.kind !== 'limit' || this.code === 'upstream_error';
  }
}

const KINDS = {
  unreachable: true,
  stale: true,
  unanswered: true,
  refused: true,
  denied: true,
  credential: true,
  rejected: true,
  timeout: true,
  slow: true,
  broken: true,
  empty: true,
  limit: true,
} satisfies Record<FailureKind, true>;

export const FAILURE_KINDS = Object.keys(KINDS) as readonly FailureKind[];
export const FAILURE_CODES = Object.keys(MESSAGES) as readonly UpstreamFailureCode[];

function composeMessage(kind: FailureKind, code: UpstreamFailureCode, rejection: string | undefined): string {
  if (kind === 'empty') return NO_OUTPUT;
  return rejection ? `${MESSAGES[code].slice(0, -1)}: ${rejection}` : MESSAGES[code];
}

function describe(refusal: LoggedRefusal | undefined): string | undefined {
  return refusal && [refusal.family, refusal.status, refusal.upstreamCode].filter((part) => part !== undefined).join(' ');
}

const LENGTH_MAX = 200;

/** Returns the text on one line, shortened, without known keys and without characters that steer a terminal. */
function printable(text: string): string {
  const head = withoutKeys(text).slice(0, 4 * LENGTH_MAX);
  const clean = head.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return clean.length > LENGTH_MAX ? `${clean.slice(0, LENGTH_MAX)}…` : clean;
}

/** Returns `error` if it is an upstream's failure; anything else becomes an internal error. */
export function asFailure(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamFailure) return error;
  return new UpstreamFailure('limit', 'internal_error', { detail: 'internal error', cause: error });
}
