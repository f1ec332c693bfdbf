import { readSecret } from '#config/load-config.js';
import { SecretFile } from '#config/secret-file.js';
import type { Upstream } from '#contracts/catalog.js';
import { isOwnVariable } from '#contracts/own-variables.js';
import { rememberKey } from '../known-keys.js';
import { UpstreamFailure } from '../upstream-failure.js';

/** By the file they are in; as many as catalogs have named. */
const FILES = new Map<string, SecretFile>();

/**
 * The key of an upstream as it is now; undefined for one without. It goes to the upstream that names it, and nowhere else. Throws
 * `UpstreamFailure`, the operator's to mend, when it is not where the catalog says.
 */
export function readApiKey({ apiKeyEnv, apiKeyFile }: Pick<Upstream, 'apiKeyEnv' | 'apiKeyFile'>): string | undefined {
  if (apiKeyFile) return present(secretFile(apiKeyFile).read()?.toString(), `the file ${apiKeyFile}`);
  if (apiKeyEnv === null) return undefined;
  return present(isOwnVariable(apiKeyEnv) ? undefined : readSecret(apiKeyEnv), apiKeyEnv);
}

function present(text: string | undefined, where: string): string {
  const key = text?.trim(); // secrets kept in files end with a new line
  if (key) {
    rememberKey(key);
    return key;
  }
  throw new UpstreamFailure('denied', 'model_unavailable', { detail: `no key in ${where}` });
}

/** One a file, so that all who read it look once. */
export function secretFile(name: string): SecretFile {
  const file = FILES.get(name) ?? new SecretFile(name);
  FILES.set(name, file);
  return file;
}
