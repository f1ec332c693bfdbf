import { headers, type MsgHdrs } from 'nats';
import type { Actor, Caller } from '#contracts/audit.js';
import { ServiceError, type ServiceErrorCode, type ServiceErrorDetails } from '#contracts/service-error.js';
import { ERROR_CODES, isErrorCode } from '#inference/errors.js';
import { parseTraceContext, type TraceContext } from '#tracing/trace-context.js';
import type { IncomingMessage } from './receiver.js';

/** Milliseconds that the caller still waits, from arrival. Without the header a plain request has `TIMEOUT_DEFAULT_MS`. */
const TIMEOUT_HEADER = 'Tollgate-Timeout-Ms';
export const TIMEOUT_DEFAULT_MS = 5_000;
/** W3C trace context. */
const TRACE_HEADER = 'traceparent';
const TRACE_STATE_HEADER = 'tracestate';
/** The person or program behind the call. */
const ACTOR_HEADER = 'Tollgate-Actor';
const ACTOR_NAME_HEADER = 'Tollgate-Actor-Name';
const ACTOR_ADDRESS_HEADER = 'Tollgate-Actor-Address';
const REQUEST_ID_HEADER = 'Tollgate-Request-Id';
/** `customer`. Without it the actor is the operator. */
const ACTOR_LEVEL_HEADER = 'Tollgate-Actor-Level';
/** Size of a payload too large for one message, and the subject that serves its pieces. The body is then empty. */
export const PAYLOAD_BYTES_HEADER = 'Tollgate-Payload-Bytes';
export const PAYLOAD_FROM_HEADER = 'Tollgate-Payload-From';

/** Error headers of the NATS services convention: an HTTP status, and a text in one line. */
const SERVICE_ERROR_CODE_HEADER = 'Nats-Service-Error-Code';
const SERVICE_ERROR_HEADER = 'Nats-Service-Error';
/** Tollgate's error headers: the code, and the field at fault. The body repeats both with the whole message. */
const ERROR_CODE_HEADER = 'Tollgate-Error-Code';
const ERROR_PARAM_HEADER = 'Tollgate-Error-Param';

const INTERNAL_STATUS = { permission_denied: 403, not_found: 404, conflict: 409, unavailable: 503 } as const;
const HEADER_TEXT_MAX = 256;

const decoder = new TextDecoder();

export function encodeJson(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value ?? null));
}

/** Parses JSON. An empty body is `{}`, so that `nats request <subject> ''` works. */
export function decodeJson(data: Uint8Array): unknown {
  return data.length === 0 ? {} : JSON.parse(decoder.decode(data));
}

/** Returns the value as the other end of a connection would parse it. */
export function copyJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}

/** `timeoutMs` undefined: the default, or for a stream no limit. */
export function requestHeaders(timeoutMs: number | undefined, trace: TraceContext | undefined, actor?: Actor): MsgHdrs | undefined {
  if (timeoutMs === undefined && trace === undefined && actor === undefined) return undefined;
  const result = headers();
  if (timeoutMs !== undefined) result.set(TIMEOUT_HEADER, String(timeoutMs));
  if (trace !== undefined) result.set(TRACE_HEADER, trace.traceparent);
  if (trace?.tracestate !== undefined) result.set(TRACE_STATE_HEADER, trace.tracestate);
  if (actor !== undefined) setActor(result, actor);
  return result;
}

function setActor(result: MsgHdrs, { actor, actorName, ip, requestId, level }: Actor): void {
  result.set(ACTOR_HEADER, oneLine(actor));
  if (actorName) result.set(ACTOR_NAME_HEADER, oneLine(actorName));
  if (ip) result.set(ACTOR_ADDRESS_HEADER, oneLine(ip));
  if (requestId) result.set(REQUEST_ID_HEADER, oneLine(requestId));
  if (level) result.set(ACTOR_LEVEL_HEADER, level);
}

/**
 * Returns the sender of a request. `via` is the NATS user that the server's permissions prove; null where several users share the subject.
 * A request without the actor's header has the user as its actor.
 */
export function readCaller({ headers }: IncomingMessage, via: string | null): Caller {
  const actor = headers?.get(ACTOR_HEADER);
  const actorName = headers?.get(ACTOR_NAME_HEADER);
  const ip = headers?.get(ACTOR_ADDRESS_HEADER);
  const requestId = headers?.get(REQUEST_ID_HEADER);
  const level = headers?.get(ACTOR_LEVEL_HEADER) === 'customer' ? 'customer' : undefined;
  return describeCaller({ actor, actorName, ip, requestId, level }, via);
}

/** Returns the sender of a request that names `actor`, in the form that a header gives it. */
export function describeCaller({ actor, actorName, ip, requestId, level }: ClaimedActor, via: string | null): Caller {
  const read = (text: string | null | undefined): string | null => oneLine(text ?? '') || null;
  return {
    actor: read(actor) ?? `nats/${via ?? 'unknown'}`,
    actorName: read(actorName),
    via,
    ip: read(ip),
    requestId: read(requestId),
    ...(level && { level }),
  };
}

type ClaimedActor = { [Field in keyof Actor]?: Actor[Field] | undefined };

/** Milliseconds from arrival; undefined without the header. */
export function readTimeout(message: IncomingMessage): number | undefined {
  const text = message.headers?.get(TIMEOUT_HEADER);
  const timeoutMs = text ? Number(text) : Number.NaN;
  return Number.isFinite(timeoutMs) ? timeoutMs : undefined;
}

/** Returns the sender's trace context; undefined when there is none, or none that is valid. */
export function readTrace({ headers }: IncomingMessage): TraceContext | undefined {
  return headers === undefined ? undefined : parseTraceContext(headers.get(TRACE_HEADER), headers.get(TRACE_STATE_HEADER));
}

// ---- errors ---------------------------------------------------------------------------------------------------------

interface WireError {
  code: ServiceErrorCode;
  message: string;
  param?: string;
  details?: ServiceErrorDetails;
}

/** The error that callers receive. Every error but a `ServiceError` becomes `internal_error`. */
export function toWireError(error: unknown): WireError {
  return error instanceof ServiceError
    ? { code: error.code, message: error.message, param: error.param, details: error.details }
    : { code: 'internal_error', message: 'The service failed to handle this request.' };
}

export function fromWireError(value: unknown): ServiceError {
  const { code, message, param, details } = (value ?? {}) as Partial<Record<keyof WireError, unknown>>;
  return new ServiceError(
    isServiceErrorCode(code) ? code : 'internal_error',
    typeof message === 'string' ? message : 'The service failed.',
    typeof param === 'string' ? param : undefined,
    isDetails(details) ? { details } : undefined,
  );
}

/** Returns the error that a caller gets of a service. */
export function toServiceError(error: unknown): ServiceError {
  return fromWireError(toWireError(error));
}

function isDetails(value: unknown): value is ServiceErrorDetails {
  return typeof value === 'object' && value !== null && Object.values(value).every((figure) => typeof figure === 'string');
}

export function errorHeaders({ code, message, param }: WireError): MsgHdrs {
  const result = headers();
  result.set(SERVICE_ERROR_CODE_HEADER, String(isErrorCode(code) ? ERROR_CODES[code].status : INTERNAL_STATUS[code]));
  result.set(SERVICE_ERROR_HEADER, oneLine(message));
  result.set(ERROR_CODE_HEADER, code);
  if (param !== undefined) result.set(ERROR_PARAM_HEADER, oneLine(param));
  return result;
}

/** The error in a reply of Tollgate, or of any service that follows the NATS convention. */
export function readError(message: IncomingMessage): ServiceError | undefined {
  if (!message.headers?.get(SERVICE_ERROR_CODE_HEADER)) return undefined;
  if (message.data.length > 0) {
    try {
      return fromWireError(decodeJson(message.data));
    } catch {
      // Not Tollgate's format: use the headers.
    }
  }
  return fromWireError({
    code: message.headers.get(ERROR_CODE_HEADER),
    message: message.headers.get(SERVICE_ERROR_HEADER),
    param: message.headers.get(ERROR_PARAM_HEADER) || undefined,
  });
}

function isServiceErrorCode(code: unknown): code is ServiceErrorCode {
  return isErrorCode(code) || (typeof code === 'string' && Object.hasOwn(INTERNAL_STATUS, code));
}

/** Header values cannot contain line breaks, and Postgres stores no NUL. */
function oneLine(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, HEADER_TEXT_MAX);
}
