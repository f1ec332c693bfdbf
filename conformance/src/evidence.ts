import type { Bench } from './bench.ts';

const EXCHANGES_MAX = 3;
const TEXT_MAX = 4_000;

/** A request that can be sent again, what its client heard, and what the upstream wrote. */
export interface Evidence {
  /** A command with the key in the variable KEY. */
  curl: string;
  heard: string;
  upstreamWrote: string;
}

/** The last exchanges of a row. Calls of the upstream belong to requests whose prompt has the same marker. */
export function gatherEvidence(bench: Bench, count = EXCHANGES_MAX): Evidence[] {
  const readMarker = (body: string): string => /\[case \d{8}\]/.exec(body)?.[0] ?? '';
  return bench.sent.slice(-count).map(({ url, key, headers, body, exchange }) => {
    const calls = bench.calls.filter((call) => readMarker(call.body) === readMarker(body));
    const fields = Object.entries(headers).map(([name, value]) => ` -H ${quote(`${name}: ${value}`.replaceAll(key, '$KEY'))}`);
    return {
      curl: `curl -sN ${url}${fields.join('')} -d ${quote(body)}`,
      heard: `${exchange.status} ${exchange.raw}`.slice(0, TEXT_MAX),
      upstreamWrote: (calls.map(({ written }) => written).join('\n— the next call —\n') || 'nothing').slice(0, TEXT_MAX),
    };
  });
}

/** Quotes for a shell. Double quotes where the key is to be filled in. */
function quote(text: string): string {
  if (!text.includes('$KEY')) return `'${text.replaceAll("'", "'\\''")}'`;
  return `"${text.replaceAll(/["\\`]/g, '\\$&')}"`;
}
