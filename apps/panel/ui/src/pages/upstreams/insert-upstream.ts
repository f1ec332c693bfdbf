import type { UpstreamReplica } from '../../../../src/shapes/catalog.js';

export interface NewUpstream {
  id: string;
  kind: NonNullable<UpstreamReplica['upstreams']>[number]['kind'];
  baseUrl: string;
  /** Variable of the inference-proxy that holds the key. Empty: it is called without one. */
  apiKeyEnv: string;
  allowPrivateNetwork: boolean;
}

/** Returns the text of a catalog with one more upstream. Every other line stays as it is, comments included. */
export function insertUpstream(yaml: string, upstream: NewUpstream): string {
  const lines = yaml.split('\n');
  const head = lines.findIndex((line) => /^upstreams:/.test(line));
  if (head < 0) return `${yaml.replace(/\n*$/, '\n')}\nupstreams:\n${renderEntry(upstream, '  ').join('\n')}\n`;
  // A list that is empty in brackets becomes one of lines.
  if (/^upstreams:\s*\[\s*\]/.test(lines[head] ?? '')) lines[head] = 'upstreams:';
  const last = findLastLine(lines, head);
  const indent = /^(\s*)- /.exec(lines.slice(head + 1, last + 1).find((line) => /^\s*- /.test(line)) ?? '')?.[1] ?? '  ';
  lines.splice(last + 1, 0, ...(last === head ? [] : ['']), ...renderEntry(upstream, indent));
  return lines.join('\n');
}

/** The last line of the list below `head`: entries are indented, or begin with a dash. */
function findLastLine(lines: readonly string[], head: number): number {
  let last = head;
  for (let at = head + 1; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (/^(\s+\S|- )/.test(line)) last = at;
    else if (line.trim() !== '' && !line.startsWith('#')) break;
  }
  return last;
}

/** Texts are quoted as JSON is, which YAML reads. */
function renderEntry({ id, kind, baseUrl, apiKeyEnv, allowPrivateNetwork }: NewUpstream, indent: string): string[] {
  return [
    `${indent}- id: ${JSON.stringify(id)}`,
    `${indent}  kind: ${kind}`,
    `${indent}  baseUrl: ${JSON.stringify(baseUrl)}`,
    ...(apiKeyEnv ? [`${indent}  apiKeyEnv: ${apiKeyEnv}`] : []),
    ...(allowPrivateNetwork ? [`${indent}  allowPrivateNetwork: true`] : []),
  ];
}
