import type { UpstreamReplica } from '../../../../src/shapes/catalog.js';
import { insertEntry } from './insert-entry.js';

export interface NewUpstream {
  id: string;
  kind: NonNullable<UpstreamReplica['upstreams']>[number]['kind'];
  baseUrl: string;
  /** Variable of the inference-proxy that holds the key. Empty: it is called without one. */
  apiKeyEnv: string;
  allowPrivateNetwork: boolean;
}

/** Returns the text of a catalog with one more upstream. Texts are quoted as JSON is, which YAML reads. */
export function insertUpstream(yaml: string, { id, kind, baseUrl, apiKeyEnv, allowPrivateNetwork }: NewUpstream): string {
  return insertEntry(yaml, 'upstreams', [
    `id: ${JSON.stringify(id)}`,
    `kind: ${kind}`,
    `baseUrl: ${JSON.stringify(baseUrl)}`,
    ...(apiKeyEnv ? [`apiKeyEnv: ${apiKeyEnv}`] : []),
    ...(allowPrivateNetwork ? ['allowPrivateNetwork: true'] : []),
  ]).yaml;
}
