import type { IncomingHttpHeaders } from 'node:http';
import type { InferenceRequest } from '#inference/request.js';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import {
  CONTENT_POLICY,
  CONTEXT_OVERFLOW,
  type DenialWords,
  IMAGE_REFUSALS,
  MODEL_MISSING,
  NO_CREDIT,
  WRONG_KEY,
} from './refusal-patterns.js';

/** What any dialect can say of an upstream's refusal. */
export interface Refusal {
  /** HTTP status of the reply or, in an error object within a stream, the number it gave. 0: none. */
  status: number;
  /** The upstream's machine-readable words (code, type), joined. */
  code: string;
  /** Its text for people. */
  text: string;
  retryAfterSeconds?: number;
}

/**
 * The one table from an upstream's refusal to the spec's codes (spec 7.1). A refusal of the request as such is ours to
 * answer for (502), unless it is about the context or about content the model does not take: that is the client's (400), and
 * its libraries do not repeat it.
 */
export function classifyRefusal(said: Refusal, request: InferenceRequest): UpstreamFailure {
  const refusal = { ...said, code: shortened(said.code), text: shortened(said.text) };
  const { status, code, text, retryAfterSeconds } = refusal;
  const detail = [status || undefined, code, text].filter(Boolean).join(' ');
  const busy = { detail, retryAfterSeconds };
  const denial = denialOf(refusal);
  if (denial !== undefined) return new UpstreamFailure('denied', 'model_unavailable', { ...busy, ...denial });
  const isBusy = status === 429 || RATE_LIMITED.test(code);
  const clientsFault = isBusy ? undefined : faultOfPrompt(refusal, request);
  if (clientsFault !== undefined) return new UpstreamFailure('rejected', clientsFault, { detail });
  if (isBusy) return new UpstreamFailure('refused', 'model_capacity', busy);
  if (status === 503 || status === 529 || OVERLOADED.test(code)) return new UpstreamFailure('refused', 'model_unavailable', busy);
  if (isModelMissing(refusal)) return new UpstreamFailure('refused', 'model_unavailable', { ...busy, isOperatorsFault: true });
  if (status === 408 || status === 504) return new UpstreamFailure('timeout', 'upstream_timeout', { detail });
  if (status === 400 || status === 415 || status === 422) return new UpstreamFailure('rejected', 'upstream_error', { detail });
  return new UpstreamFailure('refused', 'upstream_error', { detail, isOperatorsFault: status === 403 });
}

/** Until an operator can have paid: an upstream without credit seldom says when to come back. */
const NO_CREDIT_REST_SECONDS = 60;

/** That we are not served at all: our key is wrong, or our account empty, which rate limits must not be taken for. */
function denialOf({ status, code, text, retryAfterSeconds }: Refusal): { retryAfterSeconds?: number } | undefined {
  const saysOf = ({ codes, texts, openings }: DenialWords): boolean =>
    codes.test(code) || (ABOUT_ACCOUNT.has(status) && texts?.test(text)) || (ABOUT_REQUEST.has(status) && openings.test(text));
  if (saysOf(NO_CREDIT)) return { retryAfterSeconds: retryAfterSeconds ?? NO_CREDIT_REST_SECONDS };
  return status === 401 || status === 402 || saysOf(WRONG_KEY) ? { retryAfterSeconds } : undefined;
}

/** Statuses whose words are about us, and those whose words may repeat the prompt: of these only the beginning is believed. */
const ABOUT_ACCOUNT = new Set([401, 402, 403, 412, 429]);
const ABOUT_REQUEST = new Set([0, 400, 422]);

function isModelMissing({ status, code, text }: Refusal): boolean {
  if (status === 404 || status === 410) return true;
  return (status === 400 || status === 422) && (MODEL_MISSING.codes.test(code) || MODEL_MISSING.openings.test(text));
}

const WORDS_LENGTH_MAX = 8_192;

/** What is said at its beginning and at its end, where some repeat the prompt in between: an upstream chooses how long we read. */
function shortened(words: string): string {
  if (words.length <= WORDS_LENGTH_MAX) return words;
  return `${words.slice(0, WORDS_LENGTH_MAX / 2)} … ${words.slice(-WORDS_LENGTH_MAX / 2)}`;
}

/** Statuses under which servers speak of the prompt: the plain ones, those of vendors' own making, and faults that they call theirs. */
const ABOUT_CONTEXT = new Set([0, 400, 413, 422, 500]);
const ABOUT_CONTENT = new Set([0, 400, 403, 404, 413, 415, 422, 451, 500]);

/** A bare 413 is too long whatever it says, and some say nothing. */
function faultOfPrompt(
  { status, code, text }: Refusal,
  request: InferenceRequest,
): 'context_length_exceeded' | 'unsupported_content' | undefined {
  const says = (wordings: readonly RegExp[]): boolean => wordings.some((wording) => wording.test(`${code} ${text}`));
  if (ABOUT_CONTENT.has(status) && hasImages(request) && says(IMAGE_REFUSALS)) return 'unsupported_content';
  if (ABOUT_CONTEXT.has(status) && says(CONTEXT_OVERFLOW)) return 'context_length_exceeded';
  if (ABOUT_CONTENT.has(status) && says(CONTENT_POLICY)) return 'unsupported_content';
  return status === 413 ? 'context_length_exceeded' : undefined;
}

const RATE_LIMITED = /rate_?limit|too_many_requests|insufficient_system_resource|queue_full/i;
const OVERLOADED = /overloaded|unavailable|no_capacity/i;

function hasImages(request: InferenceRequest): boolean {
  return request.turns.some((turn) => {
    if (turn.role === 'user') return turn.parts.some((part) => part.type === 'image');
    return turn.role === 'tool' && turn.results.some((result) => result.parts.some((part) => part.type === 'image'));
  });
}

/**
 * When to come back, in whole seconds from 1 to 60 (H-4), from any of the forms of U-23: `Retry-After` in seconds or as a
 * date, `retry-after-ms`, the words "try again in 20s", or `x-ratelimit-reset-*` of a limit that has nothing left: these come
 * with every reply, and say when all of it is there again.
 */
export function parseRetryAfter(headers: IncomingHttpHeaders, text: string, now = Date.now()): number | undefined {
  const seconds =
    fromMilliseconds(single(headers['retry-after-ms'])) ??
    fromSecondsOrDate(single(headers['retry-after']), now) ??
    fromDuration(
      /(?:try again|retry)(?: again)? (?:in|after) ([\d.]{1,20} ?(?:ms|s|m|h|milliseconds?|seconds?|minutes?|hours?)?)/i.exec(
        shortened(text),
      )?.[1],
    ) ??
    fromExhausted(headers, 'requests') ??
    fromExhausted(headers, 'tokens');
  return seconds === undefined ? undefined : Math.min(60, Math.max(1, Math.ceil(seconds)));
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function fromExhausted(headers: IncomingHttpHeaders, what: 'requests' | 'tokens'): number | undefined {
  const remaining = single(headers[`x-ratelimit-remaining-${what}`]);
  return remaining === undefined || Number(remaining) <= 0 ? fromDuration(single(headers[`x-ratelimit-reset-${what}`])) : undefined;
}

function fromMilliseconds(value: string | undefined): number | undefined {
  return value !== undefined && /^\d+(\.\d+)?$/.test(value) ? Number(value) / 1000 : undefined;
}

function fromSecondsOrDate(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : (date - now) / 1000;
}

const UNIT_SECONDS: Record<string, number> = { ms: 0.001, s: 1, m: 60, h: 3600 };

const DURATION_LENGTH_MAX = 64;

/** `20s`, `6m0s`, `250ms`, `2 seconds`, or bare seconds. */
function fromDuration(value: string | undefined): number | undefined {
  if (value === undefined || value.length > DURATION_LENGTH_MAX) return undefined;
  if (/^\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  let seconds: number | undefined;
  for (const [, amount, unit = ''] of value.matchAll(/(\d+(?:\.\d+)?)\s*(ms|millis|s|m|h)/gi)) {
    const size = UNIT_SECONDS[unit.toLowerCase() === 'millis' ? 'ms' : unit.toLowerCase()] ?? 0;
    seconds = (seconds ?? 0) + Number(amount) * size;
  }
  return seconds;
}
