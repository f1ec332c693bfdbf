import type { InferenceRequest } from '#inference/request.js';
import { type FailureKind, type RefusalFamily, UpstreamFailure, type UpstreamFailureCode } from '../../failures/upstream-failure.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { headAndTail } from './head-and-tail.js';
import {
  type BusyPatterns,
  CONTENT_POLICY,
  CONTEXT_OVERFLOW,
  type DenialPatterns,
  IMAGE_REFUSALS,
  MODEL_MISSING,
  MODEL_OUTPUT,
  NO_CREDIT,
  OVERLOADED,
  RATE_LIMITED,
  WRONG_KEY,
} from './refusal-patterns.js';
import { rejectionText } from './rejection-text.js';

/** An upstream's refusal, in any dialect. */
export interface Refusal {
  /** HTTP status of the reply or, for an error within a stream, the number it gives. 0: none. */
  status: number;
  /** Machine-readable fields (code, type), joined by spaces. */
  code: string;
  /** Text for people. */
  text: string;
  /** The text, if its place shows it to be the upstream's message. */
  message?: string | undefined;
  retryAfterSeconds?: number | undefined;
}

interface Outcome {
  kind: FailureKind;
  code: UpstreamFailureCode;
  isOperatorsFault?: boolean;
  /** The refusal may pass by itself: `Retry-After` counts. */
  isTemporary?: boolean;
}

/**
 * The outcome of each family of refusals. A rejected request is 400, so that client libraries do not retry it.
 */
const OUTCOMES: Record<RefusalFamily, Outcome> = {
  'no-credit': { kind: 'denied', code: 'model_unavailable', isTemporary: true },
  'access-denied': { kind: 'denied', code: 'model_unavailable', isTemporary: true },
  'rate-limit': { kind: 'refused', code: 'model_capacity', isTemporary: true },
  overloaded: { kind: 'refused', code: 'model_unavailable', isTemporary: true },
  'model-missing': { kind: 'refused', code: 'model_unavailable', isTemporary: true, isOperatorsFault: true },
  'context-overflow': { kind: 'rejected', code: 'context_length_exceeded' },
  image: { kind: 'rejected', code: 'unsupported_content' },
  'content-policy': { kind: 'rejected', code: 'unsupported_content' },
  'model-output': { kind: 'rejected', code: 'upstream_error' },
  timeout: { kind: 'timeout', code: 'upstream_timeout' },
  'bad-request': { kind: 'rejected', code: 'invalid_request' },
  forbidden: { kind: 'refused', code: 'upstream_error', isOperatorsFault: true },
  other: { kind: 'refused', code: 'upstream_error' },
};

/** Returns the failure that a refusal is. The upstream's text is for the probe command, and for the client whose request is rejected. */
export function classifyRefusal(refusal: Refusal, call: UpstreamCall): UpstreamFailure {
  const readable = { ...refusal, code: headAndTail(refusal.code), text: headAndTail(refusal.text) };
  return toUpstreamFailure(findFamily(readable, call.request), readable, call);
}

/** An upstream without credit seldom says when to call again: long enough for an operator to pay. */
const NO_CREDIT_SECONDS = 60;

/** Returns the failure of a refusal whose family is known. */
export function toUpstreamFailure(family: RefusalFamily, refusal: Refusal, call: UpstreamCall): UpstreamFailure {
  const { status, code: words, text, message, retryAfterSeconds } = refusal;
  const { kind, code, isOperatorsFault, isTemporary } = OUTCOMES[family];
  const seconds = retryAfterSeconds ?? (family === 'no-credit' ? NO_CREDIT_SECONDS : undefined);
  return new UpstreamFailure(kind, code, {
    refusal: { family, status: status || undefined, upstreamCode: loggableCode(words) },
    rejection: code === 'invalid_request' && message !== undefined ? rejectionText(message, call) : undefined,
    upstreamText: text,
    retryAfterSeconds: isTemporary ? seconds : undefined,
    isOperatorsFault,
  });
}

/** Returns the words that look like machine-readable codes. Upstreams put anything into these fields, prompts too. */
function loggableCode(code: string): string | undefined {
  const words = code.split(' ').filter((word) => /^[A-Za-z\d][\w.-]{0,63}$/.test(word));
  return words.length > 0 && words.length <= 2 ? words.join(' ') : undefined;
}

function findFamily(refusal: Refusal, request: InferenceRequest): RefusalFamily {
  const { status, code, text } = refusal;
  if (isDenied(refusal, NO_CREDIT)) return 'no-credit';
  if (status === 401 || status === 402 || isDenied(refusal, WRONG_KEY)) return 'access-denied';
  const isBusy = status === 429 || isPassing(refusal, RATE_LIMITED);
  const aboutPrompt = isBusy ? undefined : findPromptFamily(refusal, request);
  if (aboutPrompt !== undefined) return aboutPrompt;
  if (isBusy) return 'rate-limit';
  if (MODEL_OUTPUT.codes.test(code) || (ABOUT_REQUEST.has(status) && MODEL_OUTPUT.openings.test(text))) return 'model-output';
  if (status === 503 || status === 529 || isPassing(refusal, OVERLOADED)) return 'overloaded';
  const isInvalid = status === 400 || status === 422;
  if (status === 404 || status === 410) return 'model-missing';
  if (isInvalid && (MODEL_MISSING.codes.test(code) || MODEL_MISSING.openings.test(text))) return 'model-missing';
  if (status === 408 || status === 504) return 'timeout';
  if (isInvalid || status === 415) return 'bad-request';
  return status === 403 ? 'forbidden' : 'other';
}

/** Statuses whose text is about our account. */
const ABOUT_ACCOUNT = new Set([401, 402, 403, 412, 429]);
/** Statuses whose text may repeat the prompt: only how it begins is believed. */
const ABOUT_REQUEST = new Set([0, 400, 422]);

function isDenied({ status, code, text }: Refusal, { codes, texts, openings }: DenialPatterns): boolean {
  if (codes.test(code)) return true;
  return (
    (ABOUT_ACCOUNT.has(status) && texts?.test(text) === true) || ((ABOUT_REQUEST.has(status) || status === 500) && openings.test(text))
  );
}

/** Statuses that say nothing about the load of a server. */
const NOT_ABOUT_LOAD = new Set([0, 400, 422, 500, 502]);

function isPassing({ status, code, text }: Refusal, { codes, openings }: BusyPatterns): boolean {
  return codes.test(code) || (NOT_ABOUT_LOAD.has(status) && openings.some((pattern) => pattern.test(text)));
}

/** Statuses with which servers refuse a prompt. Some call it a fault of their own (500). */
const ABOUT_CONTEXT = new Set([0, 400, 413, 422, 500]);
const ABOUT_CONTENT = new Set([0, 400, 403, 404, 413, 415, 422, 451, 500]);

function findPromptFamily({ status, code, text }: Refusal, request: InferenceRequest): RefusalFamily | undefined {
  const matches = (patterns: readonly RegExp[]): boolean => patterns.some((pattern) => pattern.test(`${code} ${text}`));
  if (ABOUT_CONTENT.has(status) && hasImages(request) && matches(IMAGE_REFUSALS)) return 'image';
  if (ABOUT_CONTEXT.has(status) && matches(CONTEXT_OVERFLOW)) return 'context-overflow';
  if (ABOUT_CONTENT.has(status) && matches(CONTENT_POLICY)) return 'content-policy';
  return status === 413 ? 'context-overflow' : undefined; // some servers answer 413 without a word
}

function hasImages(request: InferenceRequest): boolean {
  return request.turns.some((turn) => {
    if (turn.role === 'user') return turn.parts.some((part) => part.type === 'image');
    return turn.role === 'tool' && turn.results.some((result) => result.parts.some((part) => part.type === 'image'));
  });
}
