import { KEY_VARIABLE, SECRET_FILE_NAME } from './upstream-rules.js';

/*
 * Rules of the path, the query and the headers that the catalog adds to the requests of an upstream. Each returns what is wrong, without the
 * value, which may be a pasted secret.
 */

/** Place of a secret: a variable of the inference-proxy, or a file of its folder of secrets. */
export type SecretSource = { env: string } | { file: string };

const ENTRIES_MAX = 20;
const PATH_LENGTH_MAX = 500;
const VALUE_LENGTH_MAX = 1_000;

/** A segment of a path: what needs no escape there, and the name of the model. */
const SEGMENT = /^(?:[\w.~!$&'()*+,;=:@-]|\{model\})+$/;
const MODEL = /\{model\}/g;

export function pathFault(path: unknown): string | undefined {
  const isPath = typeof path === 'string' && path.length <= PATH_LENGTH_MAX && path.split('/').every((segment) => SEGMENT.test(segment));
  if (!isPath) return 'must be a path below baseUrl without / at its ends, such as openai/deployments/{model}/chat/completions';
  return path.split('/').some(isDots) ? 'must not have . or .. between slashes' : undefined;
}

/** Returns the path for one model; undefined when the name would lead out of it. */
export function renderPath(path: string, model: string): string | undefined {
  if (!path.includes('{model}')) return path;
  const rendered = path.replace(MODEL, () => encodeURIComponent(model.toWellFormed()));
  // Servers that decode a path before they read it see slashes where the name has them.
  return decodeURIComponent(rendered).split(/[\\/]/).some(isDots) ? undefined : rendered;
}

function isDots(segment: string): boolean {
  return segment === '.' || segment === '..';
}

const QUERY_NAME = /^[A-Za-z0-9][\w.~$-]{0,99}$/;

/** A parameter `code` is a function key of Azure. */
export function queryFault(query: unknown): string | undefined {
  const entries = listEntries(query);
  if (entries === undefined) return `must be a group of 1 to ${ENTRIES_MAX} query parameters, such as api-version: "2024-10-21"`;
  for (const [name, value] of entries) {
    if (!QUERY_NAME.test(name)) return 'has a name that is none of a query parameter';
    if (isSecretName(name) || name.toLowerCase() === 'code') return `must not have ${name}: secrets belong into headers, with env or file`;
    if (!isPlainText(value)) return `must have text of 1 to ${VALUE_LENGTH_MAX} characters for ${name}${quotes(value)}`;
  }
  return undefined;
}

/** Returns the query with its question mark; empty without one. */
export function renderQuery(query: Readonly<Record<string, string>> | null | undefined): string {
  const pairs = Object.entries(query ?? {}).map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

/** Fields that Tollgate sets, and that decide what is billed or how a reply is read. */
const OWN_FIELDS = new Set([
  'best_of',
  'contents',
  'generationConfig',
  'inferenceConfig',
  'input',
  'instructions',
  'max_completion_tokens',
  'max_output_tokens',
  'max_tokens',
  'messages',
  'n',
  'outputConfig',
  'stream',
  'stream_options',
  'system',
  'systemInstruction',
  'toolConfig',
  'tool_choice',
  'tools',
]);

const FIELD_NAME = /^[A-Za-z][\w.-]{0,99}$/;

/** Rules of the fields that the catalog adds to the bodies of calls. Null takes the field of the dialect out. A field may be a group of others. */
export function bodyFault(body: unknown): string | undefined {
  const entries = listEntries(body);
  if (entries === undefined) return `must be a group of 1 to ${ENTRIES_MAX} fields, such as anthropic_version: vertex-2023-10-16`;
  for (const [name, value] of entries) {
    const group = listEntries(value) ?? [];
    const fault = fieldFault(name, group.length === 0 ? value : true) ?? group.map((field) => fieldFault(...field)).find(Boolean);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function fieldFault(name: string, value: unknown): string | undefined {
  if (!FIELD_NAME.test(name)) return 'has a name that is none of a field';
  if (OWN_FIELDS.has(name) || (name === 'model' && value !== null)) return `must not have ${name}: Tollgate sets it`;
  if (isSecretName(name)) return `must not have ${name}: secrets belong into headers, with env or file`;
  if (value !== null && typeof value !== 'boolean' && !Number.isFinite(value) && !isPlainText(value))
    return `must have text of 1 to ${VALUE_LENGTH_MAX} characters, a number, true, false or null for ${name}`;
  return undefined;
}

const HEADER_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/** Headers that requests have already, or that decide how they are carried. */
const RESERVED = new Set([
  'accept',
  'accept-encoding',
  'anthropic-version',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export function headersFault(headers: unknown): string | undefined {
  const entries = listEntries(headers);
  if (entries === undefined) return `must be a group of 1 to ${ENTRIES_MAX} headers, such as anthropic-beta: context-1m-2025-08-07`;
  const names = new Set<string>();
  for (const [name, value] of entries) {
    const lower = name.toLowerCase();
    const fault = headerNameFault(name) ?? (names.has(lower) ? `has ${lower} twice` : valueFault(name, value));
    if (fault !== undefined) return fault;
    names.add(lower);
  }
  return undefined;
}

/** Returns why a header cannot be added to requests. `isKey`: it has the key, so that it may be `authorization`. */
export function headerNameFault(name: unknown, isKey = false): string | undefined {
  if (typeof name !== 'string' || !HEADER_NAME.test(name)) return 'has a name that is none of a header';
  const lower = name.toLowerCase();
  if (lower === 'authorization') return isKey ? undefined : 'must not have authorization: name the key in apiKeyEnv, apiKeyFile or auth';
  return RESERVED.has(lower) || lower.startsWith('proxy-') ? `must not have ${lower}: Tollgate sets it` : undefined;
}

function valueFault(name: string, value: unknown): string | undefined {
  if (typeof value === 'object' && value !== null) return sourceFault(name, value);
  if (isSecretName(name)) return `must have { env: UPSTREAM_KEY_… } or { file: … } for ${name}: the catalog holds no secrets`;
  if (!isPlainText(value)) return `must have text of 1 to ${VALUE_LENGTH_MAX} characters for ${name}${quotes(value)}`;
  return undefined;
}

export function isSecretSource(value: unknown): value is SecretSource {
  return typeof value === 'object' && value !== null && sourceFault('', value) === undefined;
}

function sourceFault(name: string, value: object): string | undefined {
  const [source, ...others] = Object.entries(value);
  const [kind, place]: [string?, unknown?] = source ?? [];
  if (others.length === 0 && typeof place === 'string') {
    if (kind === 'env')
      return KEY_VARIABLE.test(place)
        ? undefined
        : `must name a variable such as UPSTREAM_KEY_APIM in env of ${name}, never the secret itself`;
    if (kind === 'file' && place.length <= 256)
      return SECRET_FILE_NAME.test(place)
        ? undefined
        : `must name a file of UPSTREAM_SECRETS_DIR in file of ${name}, never the secret itself`;
  }
  return `must have a text, { env: UPSTREAM_KEY_… } or { file: … } for ${name}`;
}

/** Words that name a secret, alone or at the end of a longer word. */
const SECRET_WORD =
  /^(key|auth|authn|session|jwt|bearer|sig|pwd|pat)$|(apikey|accesskey|secretkey|subscriptionkey|token|secret|passwd|password|passphrase|authentication|authorization|cookie|signature|credentials?)$/;
/** Only at the end of a name: `x-pass-through` is no secret. */
const PASS = /(^|[-_.])pass$/;

function isSecretName(name: string): boolean {
  const lower = name.toLowerCase();
  return PASS.test(lower) || lower.split(/[-_.]/).some((word) => SECRET_WORD.test(word));
}

/** True for visible text in ASCII that does not begin as the value of `authorization` does. */
export function isPlainText(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > VALUE_LENGTH_MAX) return false;
  return /^[!-~]([ -~]*[!-~])?$/.test(value) && !/^(bearer|basic) /i.test(value);
}

/** Adds a hint where YAML has read a number or a boolean. */
function quotes(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean' ? '; put it in quotes' : '';
}

function listEntries(group: unknown): [string, unknown][] | undefined {
  if (typeof group !== 'object' || group === null || Array.isArray(group)) return undefined;
  const entries = Object.entries(group);
  return entries.length >= 1 && entries.length <= ENTRIES_MAX ? entries : undefined;
}
