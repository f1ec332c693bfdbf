import { UpstreamFailure } from '../upstream-failure.js';

/** The object a whole reply is; throws `UpstreamFailure` for anything else. A byte order mark may precede it (U-14). */
export function parseReplyObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body.replace(/^\ufeff/, ''));
    if (isObject(value)) return value;
  } catch (cause) {
    throw new UpstreamFailure('broken', 'upstream_error', { detail: 'a reply that is not JSON', cause });
  }
  throw new UpstreamFailure('broken', 'upstream_error', { detail: 'a reply that is not an object' });
}

/** The object an error's body may be: such a body can be anything. */
export function findObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
