import { BlockList, isIP } from 'node:net';

interface Entry {
  covers: (host: string) => boolean;
  /** Undefined: every port. */
  port: string | undefined;
}

/**
 * Destinations that are called without a forward proxy, as `NO_PROXY` lists them, separated by commas or spaces: `example.com` and
 * `.example.com` with their subdomains, `*.example.com` for subdomains alone, addresses, networks such as `10.0.0.0/8`, `*` for all. A port
 * may follow. Names are not resolved, so a network covers only addresses in URLs.
 */
export class NoProxy {
  private readonly entries: Entry[];

  constructor(text: string) {
    this.entries = splitTexts(text).flatMap((entry) => parseEntry(entry) ?? []);
  }

  covers({ protocol, hostname, port }: URL): boolean {
    if (this.entries.length === 0) return false;
    const host = hostname.replace(/^\[|\]$/g, '').replace(/(?<=.)\.$/, '');
    const at = port || (protocol === 'https:' ? '443' : '80');
    return this.entries.some((entry) => (entry.port === undefined || entry.port === at) && entry.covers(host));
  }
}

/** False when an entry is neither a name, an address nor a network. */
export function isNoProxy(text: unknown): boolean {
  return typeof text === 'string' && splitTexts(text).every((entry) => parseEntry(entry) !== undefined);
}

function splitTexts(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '');
}

function parseEntry(text: string): Entry | undefined {
  if (text.includes('/')) return parseNetwork(text);
  const [, bracketed, bare = '', port] = /^(?:\[([^\]]+)\]|([^[\]]*?))(?::(\d{1,5}))?$/.exec(isIP(text) === 6 ? `[${text}]` : text) ?? [];
  if (bare === '*') return { covers: () => true, port };
  const address = bracketed === undefined ? bare : `[${bracketed}]`;
  const [, prefix = '', name = ''] = /^(\*\.|\.)?(.+?)\.?$/.exec(address) ?? [];
  const host = URL.parse(`http://${name}`)?.hostname;
  if (host === undefined || (bracketed === undefined && /[*/?#@\\:]/.test(name))) return undefined;
  if (bracketed !== undefined) return { covers: (asked) => `[${asked}]` === host, port };
  if (prefix === '*.') return { covers: (asked) => asked.endsWith(`.${host}`), port };
  return { covers: (asked) => asked === host || asked.endsWith(`.${host}`), port };
}

function parseNetwork(text: string): Entry | undefined {
  const [, network = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const family = isIP(network);
  if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) return undefined;
  const list = new BlockList();
  list.addSubnet(network, Number(bits), family === 4 ? 'ipv4' : 'ipv6');
  return { covers: (host) => isIP(host) !== 0 && list.check(host, isIP(host) === 4 ? 'ipv4' : 'ipv6'), port: undefined };
}
