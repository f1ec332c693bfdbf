import type { IncomingHttpHeaders } from 'node:http';
import type { InferenceRequest } from '#inference/request.js';
import { UpstreamFailure } from '../upstream-failure.js';

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
 * answer for (502), unless it is about the context or about content the model does not take: that is the client's (400).
 */
export function classifyRefusal(refusal: Refusal, request: InferenceRequest): UpstreamFailure {
  const { status, code, text, retryAfterSeconds } = refusal;
  const detail = [status || undefined, code, text].filter(Boolean).join(' ');
  const busy = { detail, retryAfterSeconds: retryAfterSeconds ?? RETRY_AFTER_DEFAULT_SECONDS };
  const words = `${code} ${text}`;
  const aboutRequest = status === 0 || status === 400 || status === 413 || status === 422 || status === 500;
  if (aboutRequest && CONTEXT_OVERFLOW.some((wording) => wording.test(words))) {
    return new UpstreamFailure('rejected', 'context_length_exceeded', { detail });
  }
  if (aboutRequest && isContentRefusal(words, request)) return new UpstreamFailure('rejected', 'unsupported_content', { detail });
  if (status === 429 || RATE_LIMITED.test(code)) return new UpstreamFailure('refused', 'model_capacity', busy);
  if (status === 503 || status === 529 || OVERLOADED.test(code)) return new UpstreamFailure('refused', 'model_unavailable', busy);
  if (status === 404) return new UpstreamFailure('refused', 'model_unavailable', { ...busy, isOperatorsFault: true });
  if (status === 408 || status === 504) return new UpstreamFailure('timeout', 'upstream_timeout', { detail });
  if (status === 400 || status === 413 || status === 415 || status === 422) {
    return new UpstreamFailure('rejected', 'upstream_error', { detail });
  }
  return new UpstreamFailure('refused', 'upstream_error', { detail, isOperatorsFault: status >= 401 && status <= 403 });
}

const RETRY_AFTER_DEFAULT_SECONDS = 5;

/** The wordings of U-23. */
const CONTEXT_OVERFLOW = [
  /context[ _]length[ _]exceeded/i,
  /maximum (context|model|input|prompt|sequence) length/i,
  /max(imum)?_?(model|context)_?len(gth)?/i,
  /exceeds? (the )?(available|model'?s?|maximum|max)?\s*context/i,
  /(longer|greater|larger) than (the )?(model'?s? )?(maximum )?context/i,
  /context (window|size|length).{0,60}(exceed|too (long|large|small)|overflow)/i,
  /(exceed|over|beyond).{0,60}context (window|size|length)/i,
  /(prompt|input|request|conversation|messages?)( \w+){0,3} (is|are) too (long|large)/i,
  /reduce the length of/i,
  /input token count.{0,60}exceeds/i,
  /too many (input |prompt |total )?tokens(?! per)/i,
  /prompt contains \d+ tokens.{0,40}(limit|maximum)/i,
];

const IMAGE_REFUSALS = [
  /image.{0,80}(not supported|unsupported|only supported|not allowed|not enabled|invalid|corrupt|could ?n[o']t|cannot|failed|unable|too (large|big|small))/i,
  /(not support|unsupported|does ?n[o']t support|cannot|could ?n[o']t|unable|failed|invalid).{0,80}image/i,
  /not a (multimodal|vision) model/i,
  /multimodal.{0,60}(not supported|unsupported|disabled)/i,
];

const CONTENT_POLICY = /content[_ ](filter|policy)|responsible_?ai|moderation|safety_violation|data_inspection_failed/i;
const RATE_LIMITED = /rate_?limit|too_many_requests|insufficient_system_resource|queue_full/i;
const OVERLOADED = /overloaded|unavailable|no_capacity/i;

function isContentRefusal(words: string, request: InferenceRequest): boolean {
  return CONTENT_POLICY.test(words) || (hasImages(request) && IMAGE_REFUSALS.some((wording) => wording.test(words)));
}

function hasImages(request: InferenceRequest): boolean {
  return request.turns.some((turn) => {
    if (turn.role === 'user') return turn.parts.some((part) => part.type === 'image');
    return turn.role === 'tool' && turn.results.some((result) => result.parts.some((part) => part.type === 'image'));
  });
}

/**
 * When to come back, in whole seconds from 1 to 60 (H-4), from any of the forms of U-23: `Retry-After` in seconds or as a
 * date, `retry-after-ms`, `x-ratelimit-reset-*`, or the words "try again in 20s".
 */
export function parseRetryAfter(headers: IncomingHttpHeaders, text: string, now = Date.now()): number | undefined {
  const seconds =
    fromMilliseconds(single(headers['retry-after-ms'])) ??
    fromSecondsOrDate(single(headers['retry-after']), now) ??
    fromDuration(single(headers['x-ratelimit-reset-requests'])) ??
    fromDuration(single(headers['x-ratelimit-reset-tokens'])) ??
    fromDuration(/(?:try again|retry)(?: again)? (?:in|after) ([\d.]+ ?(?:ms|s|m|milliseconds?|seconds?|minutes?)?)/i.exec(text)?.[1]);
  return seconds === undefined ? undefined : Math.min(60, Math.max(1, Math.ceil(seconds)));
}

function single(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
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

/** `20s`, `6m0s`, `250ms`, `2 seconds`, or bare seconds. */
function fromDuration(value: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  let seconds: number | undefined;
  for (const [, amount, unit = ''] of value.matchAll(/(\d+(?:\.\d+)?)\s*(ms|millis|s|m|h)/gi)) {
    const size = UNIT_SECONDS[unit.toLowerCase() === 'millis' ? 'ms' : unit.toLowerCase()] ?? 0;
    seconds = (seconds ?? 0) + Number(amount) * size;
  }
  return seconds;
}
