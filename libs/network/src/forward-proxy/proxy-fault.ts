import type { ForwardProxy } from './forward-proxies.js';

/** Thrown when a forward proxy opens no tunnel. One line says why and what to do; it has no credentials and no text of the proxy. */
export class ProxyFault extends Error {
  override readonly name = 'ProxyFault';

  constructor(
    readonly code: string,
    host: string,
    /** The reason without the host of the proxy, for those whom that does not concern. */
    readonly reason: string,
    /** True when a setting here or a rule of the proxy has to be corrected. */
    readonly isOperatorsFault: boolean,
    cause?: unknown,
  ) {
    super(`forward proxy ${host} ${reason}`, cause === undefined ? undefined : { cause });
  }
}

export function proxyUnreachable({ host, setting }: ForwardProxy, error: Error & { code?: string }): ProxyFault {
  const code = error.code ?? 'unknown';
  const isTls = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME|^ERR_(SSL|TLS)|^EPROTO$/.test(code);
  const why = isTls ? `has no certificate or TLS that is accepted: check ${setting}, and NODE_EXTRA_CA_CERTS` : 'cannot be reached';
  return new ProxyFault('PROXY_UNREACHABLE', host, `${why} (${code})`, isTls || code === 'ENOTFOUND', error);
}

export function proxyRefused({ host, setting }: ForwardProxy, destination: string, status: number): ProxyFault {
  const fault = (reason: string, isOperatorsFault: boolean): ProxyFault =>
    new ProxyFault(`PROXY_${status}`, host, `${reason} (${status})`, isOperatorsFault);
  if (status === 407) return fault(`does not accept our credentials: check those in ${setting}`, true);
  if (status >= 500) return fault(`cannot reach ${destination}`, false);
  return fault(`allows no tunnel to ${destination}: allow CONNECT to that host and port there`, true);
}

export function proxyClosed({ host, setting }: ForwardProxy, error: Error): ProxyFault {
  return new ProxyFault('PROXY_CLOSED', host, `does not answer CONNECT as an HTTP proxy does: check ${setting}`, false, error);
}

export function proxySilent({ host }: ForwardProxy, destination: string, timeoutMs: number): ProxyFault {
  return new ProxyFault('PROXY_TIMEOUT', host, `has opened no connection to ${destination} within ${timeoutMs} ms`, false);
}
