import { NoProxy } from './no-proxy.js';

/** A forward proxy of the operator. No text about it has its credentials. */
export class ForwardProxy {
  /** Scheme, host and port. */
  readonly url: URL;
  /** Host and port, for logs and errors. */
  readonly host: string;
  /** `#private`, because loggers serialise every own property of an object. */
  readonly #authorization: string | undefined;

  constructor(
    { origin, host, username, password }: URL,
    /** Setting that names it, which an error tells the operator to check. */
    readonly setting: string,
  ) {
    this.url = new URL(origin);
    this.host = host;
    if (username !== '' || password !== '') {
      const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      this.#authorization = `Basic ${Buffer.from(credentials).toString('base64')}`;
    }
  }

  /** Headers of a CONNECT. */
  get headers(): Record<string, string> {
    return this.#authorization === undefined ? {} : { 'proxy-authorization': this.#authorization };
  }
}

/** Texts of the settings; `none` for one that is not set. */
export interface ForwardProxySettings {
  httpsProxy: string;
  httpProxy: string;
  noProxy: string;
  /** Further proxies, which a setting for one destination may name. */
  forwardProxies?: string;
}

/** The forward proxies of a service: by the scheme of the destination, and by name. */
export class ForwardProxies {
  private readonly https: ForwardProxy | undefined;
  private readonly http: ForwardProxy | undefined;
  private readonly noProxy: NoProxy;
  private readonly declared = new Map<string, ForwardProxy>();

  /** The texts must satisfy `isProxyUrl`, `isProxyList` and `isNoProxy`. */
  constructor({ httpsProxy, httpProxy, noProxy, forwardProxies = 'none' }: ForwardProxySettings) {
    this.https = parseProxy(httpsProxy, 'HTTPS_PROXY');
    this.http = parseProxy(httpProxy, 'HTTP_PROXY');
    this.noProxy = new NoProxy(noProxy === 'none' ? '' : noProxy);
    const named = forwardProxies === 'none' ? [] : splitEntries(forwardProxies).map((text) => parseProxy(text, 'FORWARD_PROXIES'));
    // The first one wins: FORWARD_PROXIES may repeat a proxy of the others with other credentials.
    for (const proxy of [...named, this.https, this.http])
      if (proxy !== undefined && !this.declared.has(proxy.url.origin)) this.declared.set(proxy.url.origin, proxy);
  }

  /** Returns the proxy for a destination; undefined when it is called directly. */
  forUrl(url: URL): ForwardProxy | undefined {
    const proxy = url.protocol === 'https:' ? this.https : this.http;
    return proxy === undefined || this.isDirect(url) ? undefined : proxy;
  }

  /** True when `NO_PROXY` has a destination called directly. */
  isDirect(url: URL): boolean {
    return this.noProxy.covers(url);
  }

  /** Returns the proxy at an address; undefined for one that no setting names. */
  named(address: string): ForwardProxy | undefined {
    const url = parseProxyUrl(address);
    return url && this.declared.get(url.origin);
  }
}

export const NO_FORWARD_PROXIES = new ForwardProxies({ httpsProxy: 'none', httpProxy: 'none', noProxy: 'none' });

/** True for the address of an HTTP proxy, with or without credentials. Without a scheme it is `http://`, as in other programs. */
export function isProxyUrl(text: unknown): boolean {
  return typeof text === 'string' && parseProxyUrl(text) !== undefined;
}

/** True for addresses of proxies, separated by commas or spaces. */
export function isProxyList(text: unknown): boolean {
  return typeof text === 'string' && splitEntries(text).every(isProxyUrl);
}

function parseProxy(text: string, setting: string): ForwardProxy | undefined {
  const url = text === 'none' ? undefined : parseProxyUrl(text);
  return url && new ForwardProxy(url, setting);
}

function splitEntries(text: string): string[] {
  return text.split(/[\s,]+/).filter((entry) => entry !== '');
}

function parseProxyUrl(text: string): URL | undefined {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') return undefined;
  try {
    decodeURIComponent(url.username + url.password);
    return url;
  } catch {
    return undefined;
  }
}
