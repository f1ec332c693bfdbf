import type { Upstream } from '#contracts/catalog.js';
import type { SecretSource } from '#contracts/upstream-request.js';
import { readSecretFor } from './api-key.js';

export type HeaderReader = () => Readonly<Record<string, string>>;

const NONE: Readonly<Record<string, string>> = {};

/**
 * Returns what reads the headers that the catalog adds to requests of an upstream. Secrets are read at each request, so that a replaced file
 * is used. The reader throws `UpstreamFailure` for a secret that is missing, or not declared for the host of `baseUrl`.
 */
export function headerReader({ headers, baseUrl }: Pick<Upstream, 'headers' | 'baseUrl'>): HeaderReader {
  const plain: Record<string, string> = {};
  const secret: [name: string, source: SecretSource][] = [];
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (typeof value === 'string') plain[name.toLowerCase()] = value;
    else secret.push([name.toLowerCase(), value]);
  }
  if (secret.length === 0) return () => (headers ? plain : NONE);
  return () => {
    const read = { ...plain };
    for (const [name, source] of secret) read[name] = readSecretFor(baseUrl, source);
    return read;
  };
}
