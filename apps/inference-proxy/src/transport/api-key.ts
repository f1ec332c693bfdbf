import { readSecret } from '#config/load-config.js';
import { SecretFile } from '#config/secret-file.js';
import type { Upstream } from '#contracts/catalog.js';
import { isOwnVariable } from '#contracts/own-variables.js';
import { rememberKey } from '../failures/known-keys.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';

/** By the file they are in; as many as catalogs have named. */
const FILES = new Map<string, SecretFile>();

/**
 * The key of an upstream as it is now; undefined for one without. It goes to the upstream that names it, and nowhere else. Throws
 * `UpstreamFailure`, the operator's to mend, when it is not where the catalog says.
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

/** Of a file that has a fault. */
export function whyUnread({ name, fault }: SecretFile): string {
  return `the file ${name} cannot be read (${fault})`;
}

/** One a file, so that all who read it look once. */
export function secretFile(name: string): SecretFile {
  const file = FILES.get(name) ?? new SecretFile(name);
  FILES.set(name, file);
  return file;
}
