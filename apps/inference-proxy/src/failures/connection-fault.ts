import type { UpstreamTls } from '#contracts/catalog.js';

/** The other side of a connection. */
export interface Peer {
  /** With the port, if there is one. */
  host: string;
  hostname: string;
  protocol: string;
  tls: UpstreamTls | null | undefined;
}

/**
 * Thrown when a connection could not be made: says why and what to do about it. The message begins with the host and ends with the error
 * code. It quotes nothing of the upstream's own text but the names in a certificate.
 */
export class ConnectionFault extends Error {
  override readonly name = 'ConnectionFault';

  constructor(
    readonly code: string,
    words: string,
    /** True when the catalog entry, or a file it names, has to be corrected. */
    readonly isOperatorsFault = true,
  ) {
    super(`${words} (${code})`);
  }
}

/** Returns the fault behind a TLS error, before or after the handshake; undefined for other errors, and without a known remedy. */
export function explainTls(error: Error, peer: Peer): ConnectionFault | undefined {
  if (error instanceof ConnectionFault) return error;
  if (peer.protocol !== 'https:') return undefined;
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return undefined;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return new ConnectionFault(code, `${peer.host}: ${wrongName(error, peer)}`);
  if (UPSTREAM_CERTIFICATE.test(code)) return new ConnectionFault(code, `${peer.host}: ${explainUpstreamCertificate(code, peer)}`);
  if (code.includes('_ALERT_')) return explainAlert(code, peer);
  if (TLS_ERROR.test(code)) return new ConnectionFault(code, `${peer.host}: TLS handshake failed. Is the URL http://, not https://?`);
  return undefined;
}

/** Returns the fault of a new connection that was closed before the first byte of a reply. */
export function explainClose({ host, protocol, tls }: Peer): ConnectionFault {
  const hint = protocol === 'https:' ? clientCertificateHint(tls) : 'Is the URL https://, not http://?';
  return new ConnectionFault('CLOSED', `${host}: upstream closed the connection without replying. ${hint}`, false);
}

/** Returns the fault of a handshake that was closed without an alert. The other side may be restarting. */
export function explainBrokenHandshake({ host, tls }: Peer): ConnectionFault {
  return new ConnectionFault(
    'ECONNRESET',
    `${host}: upstream closed the connection during the TLS handshake. ${clientCertificateHint(tls)}`,
    false,
  );
}

/** Returns the fault of a reply that is a TLS alert, which servers send to a request without TLS; undefined for any other. */
export function explainNoHttp(data: unknown, { host, protocol }: Peer): ConnectionFault | undefined {
  if (protocol !== 'http:' || typeof data !== 'string' || !data.startsWith('\x15\x03')) return undefined;
  return new ConnectionFault('NO_HTTP', `${host}: upstream expects TLS. Use https:// instead of http://`);
}

/** Codes of a certificate of the upstream that is not accepted. */
const UPSTREAM_CERTIFICATE = /^(CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/;
const TLS_ERROR = /^(ERR_SSL_|EPROTO$)/;
/** Codes of certificates from an unknown authority. */
const UNKNOWN = /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(GET|VERIFY)|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE)/;
const NAMES_LENGTH_MAX = 80;

function wrongName(error: Error, { hostname }: Peer): string {
  const names = String((error as { cert?: { subjectaltname?: unknown } }).cert?.subjectaltname ?? '').replace(/\b(DNS|IP Address):/g, '');
  if (names === '') return `certificate names no host. It must name ${hostname}`;
  const first = names.length > NAMES_LENGTH_MAX ? `${names.slice(0, NAMES_LENGTH_MAX)}…` : names;
  return `certificate is for ${first}, not for ${hostname}. Is the host in baseUrl right?`;
}

function explainUpstreamCertificate(code: string, { tls }: Peer): string {
  if (code === 'CERT_HAS_EXPIRED') return 'certificate, or one in its chain, has expired. The upstream must renew it';
  if (code === 'CERT_NOT_YET_VALID') return 'certificate, or one in its chain, is not valid yet. Check the clocks of both sides';
  if (!UNKNOWN.test(code)) return 'certificate is not accepted';
  if (tls?.caFile) return `certificate is not signed by the authority in ${tls.caFile}, or comes without its chain`;
  return 'certificate is signed by an unknown authority. Name the authority in tls.caFile, or let the upstream send its whole chain';
}

/** Explains the alert with which the other side ended the handshake. */
function explainAlert(code: string, { host, hostname, tls }: Peer): ConnectionFault {
  const fault = (words: string): ConnectionFault => new ConnectionFault(code, `${host}: ${words}`);
  if (code.endsWith('PROTOCOL_VERSION')) return fault('upstream does not support TLS 1.2 or later');
  if (code.endsWith('UNRECOGNIZED_NAME')) return fault(`upstream does not know the name ${hostname}. Is the host in baseUrl right?`);
  if (!/CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED/.test(code))
    return fault(`upstream rejected the TLS handshake. ${clientCertificateHint(tls)}`);
  if (tls?.certFile)
    return fault(`client certificate rejected: check ${tls.certFile}. The upstream must know its authority, and it must not have expired`);
  return fault('client certificate required. Set tls.certFile and tls.keyFile');
}

function clientCertificateHint(tls: Peer['tls']): string {
  if (tls?.certFile) return `Does it accept the client certificate in ${tls.certFile}?`;
  return 'Does it require a client certificate (tls.certFile, tls.keyFile)?';
}
