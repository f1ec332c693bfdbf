import { readSecret } from '#config/load-config.js';
import { SecretFile } from '#config/secret-file.js';
import type { Upstream } from '#contracts/catalog.js';
import { isOwnVariable } from '#contracts/upstream-rules.js';
import { rememberKey } from '../failures/known-keys.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';

/** By name. As many as catalogs have named since the start. */
const FILES = new Map<string, SecretFile>();

/**
 * Returns the current key of an upstream; undefined for one without a key. Send it to that upstream only. Throws `UpstreamFailure` when
 * the variable or file that the catalog names has no usable key.
 */
export function readApiKey({ apiKeyEnv, apiKeyFile }: Pick<Upstream, 'apiKeyEnv' | 'apiKeyFile'>): string | undefined {
  if (apiKeyFile) {
    const file = secretFile(apiKeyFile);
    const text = file.read()?.toString();
    if (file.fault !== undefined) throw denied(whyUnread(file));
    return present(text, `the file ${apiKeyFile}`);
  }
  if (apiKeyEnv === null) return undefined;
  return present(isOwnVariable(apiKeyEnv) ? undefined : readSecret(apiKeyEnv), apiKeyEnv);
}

function present(text: string | undefined, where: string): string {
  const key = text?.trim(); // secrets kept in files end with a new line
  if (!key) throw denied(`no key in ${where}`);
  rememberKey(key);
  if (!HEADER_VALUE.test(key)) throw denied(`the key in ${where} has characters that no header can carry (two lines?)`);
  return key;
}

/** RFC 9110, section 5.5. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]+$/;

function denied(detail: string): UpstreamFailure {
  return new UpstreamFailure('denied', 'model_unavailable', { detail });
}

/** Describes the fault of a file. */
export function whyUnread({ name, fault }: SecretFile): string {
  return `the file ${name} cannot be read (${fault})`;
}

/** Returns the one reader of a file, so that all of its users share one read. */
export function secretFile(name: string): SecretFile {
  const file = FILES.get(name) ?? new SecretFile(name);
  FILES.set(name, file);
  return file;
}
