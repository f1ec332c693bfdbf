import { readSecret } from '#config/load-config.js';
import type { SecretFile } from '#config/secret-file.js';
import type { Upstream } from '#contracts/catalog.js';
import type { SecretSource } from '#contracts/upstream-request.js';
import { KEY_PREFIX, KEY_VARIABLE } from '#contracts/upstream-rules.js';
import { rememberKey } from '../failures/known-keys.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { describeSecret, type SecretPlace, secretFile, whyNotSentTo } from './secret-hosts.js';

type KeyOwner = Pick<Upstream, 'apiKeyEnv' | 'apiKeyFile' | 'baseUrl'>;

/**
 * Returns the current key of an upstream; undefined for one without a key. Send it to the host of its `baseUrl` only. Throws
 * `UpstreamFailure` when the variable or file that the catalog names has no usable key, or is not declared for that host.
 */
export function readApiKey({ apiKeyEnv, apiKeyFile, baseUrl }: KeyOwner): string | undefined {
  if (apiKeyFile) return readSecretFor(baseUrl, { file: apiKeyFile });
  return apiKeyEnv === null ? undefined : readSecretFor(baseUrl, { env: apiKeyEnv });
}

/** Returns a secret for a header. Send it to the host of `baseUrl` only. Throws as `readApiKey`. */
export function readSecretFor(baseUrl: string, source: SecretSource): string {
  if ('file' in source) return usableFor(baseUrl, readText(source.file), { file: source.file });
  if (!KEY_VARIABLE.test(source.env))
    throw denied(`${source.env} is never read: rename it to ${KEY_PREFIX}…, for the inference-proxy and in the catalog`);
  return usableFor(baseUrl, readSecret(source.env), { variable: source.env });
}

/**
 * Returns the content of a file that is no secret for a header, such as a private key. What is made of it goes to the host of `baseUrl` only.
 * Throws as `readApiKey`.
 */
export function readFileFor(baseUrl: string, name: string): string {
  const text = readText(name);
  if (!text?.trim()) throw denied(`nothing in the file ${name}`);
  assertSentTo(baseUrl, { file: name });
  return text;
}

/** Throws `UpstreamFailure` unless a secret is declared for the host of `url`. */
export function assertSentTo(url: string, secret: SecretPlace): void {
  const refusal = whyNotSentTo(url, secret);
  if (refusal !== undefined) throw denied(refusal);
}

function readText(name: string): string | undefined {
  const file = secretFile(name);
  const text = file.read()?.toString();
  if (file.fault !== undefined) throw denied(whyUnread(file));
  return text;
}

/** Returns why the key of an upstream, or a secret in its headers, cannot be used; undefined when they can, or when there is none. */
export function whyNoKey({ headers, ...upstream }: KeyOwner & Pick<Upstream, 'headers'>): string | undefined {
  try {
    readApiKey(upstream);
    for (const value of Object.values(headers ?? {})) if (typeof value !== 'string') readSecretFor(upstream.baseUrl, value);
    return undefined;
  } catch (error) {
    if (error instanceof UpstreamFailure) return error.detail;
    throw error;
  }
}

/** True when requests to the upstream carry a secret in a header. */
export function sendsSecrets({
  apiKeyEnv,
  apiKeyFile,
  auth,
  headers,
}: Pick<Upstream, 'apiKeyEnv' | 'apiKeyFile' | 'auth' | 'headers'>): boolean {
  return (
    apiKeyEnv !== null || Boolean(apiKeyFile) || auth != null || Object.values(headers ?? {}).some((value) => typeof value !== 'string')
  );
}

function usableFor(baseUrl: string, text: string | undefined, secret: { file: string } | { variable: string }): string {
  const key = text?.trim(); // secrets kept in files end with a new line
  if (!key) throw denied(`no key in ${'file' in secret ? `the file ${secret.file}` : secret.variable}`);
  if (!HEADER_VALUE.test(key)) throw denied(`${describeSecret(secret)} has characters that no header can carry (two lines?)`);
  assertSentTo(baseUrl, secret);
  rememberKey(key);
  return key;
}

/** RFC 9110, section 5.5. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]+$/;

function denied(detail: string): UpstreamFailure {
  return new UpstreamFailure('denied', 'model_unavailable', { detail });
}

/** Describes the fault of a file. */
export function whyUnread({ name, fault }: SecretFile): string {
  return fault === 'OWN' ? `the file ${name} is a secret of Tollgate itself` : `the file ${name} cannot be read (${fault})`;
}
