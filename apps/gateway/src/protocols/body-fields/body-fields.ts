import { GatewayError } from '#inference/errors.js';
import { isExactNumber } from '#inference/exact-json.js';

/**
 * An object of untrusted JSON. The readers below serve the parts of a body that are too large or too varied for a DTO. Their `path` is
 * the location of the owner in the client's notation, `''` for the body; every error names the exact field. `null` counts as absent in
 * optional fields.
 */
export type JsonObject = Record<string, unknown>;

/**
 * Levels of nested JSON in a body. Tool calls of replies have up to 100 levels of arguments (`ToolInput`), at most 5 levels deep when a
 * client sends the reply back. Many JSON parsers of upstreams stop at 128.
 */
export const JSON_LEVELS_MAX = 128;

/** Returns the body as an object of at most 128 levels, so that later code may recurse over it. */
export function readBody(body: unknown): JsonObject {
  if (!isObject(body)) throw new GatewayError('invalid_request', 'The body must be a JSON object.');
  if (isNestedDeeper(body, JSON_LEVELS_MAX)) {
    throw new GatewayError('invalid_request', `The body is nested too deeply: at most ${JSON_LEVELS_MAX} levels are accepted.`);
  }
  return body;
}

/** Returns `invalid_request` for a field. `rule` continues its name: "must be a string". */
export function invalidField(param: string, rule: string): GatewayError {
  return new GatewayError('invalid_request', `\`${param}\` ${rule}.`, { param });
}

export function fieldPath(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

export function asObject(value: unknown, path: string): JsonObject {
  if (!isObject(value)) throw invalidField(path, 'must be an object');
  return value;
}

/** Returns an optional array. Absent and `null` are returned as `[]`, which means absent in every format. */
export function readArray(owner: JsonObject, field: string, path: string): unknown[] {
  const value = owner[field];
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalidField(fieldPath(path, field), 'must be an array');
  return value;
}

/** Returns `messages` of a chat or messages request. */
export function readMessages({ messages }: JsonObject): readonly unknown[] {
  if (!Array.isArray(messages)) throw invalidField('messages', isAbsent(messages) ? 'is required' : 'must be an array');
  if (messages.length === 0) throw invalidField('messages', 'must not be empty');
  return messages;
}

/** Tools of one request, in any format. */
export const TOOLS_MAX = 1_024;

/** Returns `tools` of a chat or messages request. */
export function readTools(source: JsonObject): unknown[] {
  const tools = readArray(source, 'tools', '');
  if (tools.length > TOOLS_MAX) throw tooManyTools();
  return tools;
}

export function tooManyTools(): GatewayError {
  return invalidField('tools', `must have at most ${TOOLS_MAX} entries`);
}

export function readObject(owner: JsonObject, field: string, path: string): JsonObject {
  const value = owner[field];
  if (!isObject(value)) throw invalidField(fieldPath(path, field), isAbsent(value) ? 'is required' : 'must be an object');
  return value;
}

export function readOptionalObject(owner: JsonObject, field: string, path: string): JsonObject | undefined {
  return isAbsent(owner[field]) ? undefined : readObject(owner, field, path);
}

export function readString(owner: JsonObject, field: string, path: string): string {
  const value = owner[field];
  if (typeof value !== 'string') throw invalidField(fieldPath(path, field), isAbsent(value) ? 'is required' : 'must be a string');
  return value;
}

/** Returns a required string that is not empty, such as an id, name or type. */
export function readName(owner: JsonObject, field: string, path: string): string {
  const value = readString(owner, field, path);
  if (value === '') throw invalidField(fieldPath(path, field), 'must not be empty');
  return value;
}

export function readOptionalString(owner: JsonObject, field: string, path: string): string | undefined {
  return isAbsent(owner[field]) ? undefined : readString(owner, field, path);
}

export function readOptionalBoolean(owner: JsonObject, field: string, path: string): boolean | undefined {
  const value = owner[field];
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'boolean') throw invalidField(fieldPath(path, field), 'must be a boolean');
  return value;
}

/** Returns true or undefined. `false` means absent here, and is left out so that a prompt has the same size in all formats. */
export function readOptionalTrue(owner: JsonObject, field: string, path: string): true | undefined {
  return readOptionalBoolean(owner, field, path) || undefined;
}

export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isNestedDeeper(item, levels - 1));
  for (const key in value) if (isNestedDeeper((value as JsonObject)[key], levels - 1)) return true;
  return false;
}
