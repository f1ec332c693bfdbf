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
 * Why a connection could not be made and what to do about it. The message begins with the host and ends with the error code. Of the
 * other side's own text it contains only the names in a certificate.
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
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return new ConnectionFault(code, `${peer.host} ${wrongName(error, peer)}`);
  if (ABOUT_THEIRS.test(code)) return new ConnectionFault(code, `${peer.host} has ${whatOfTheirs(code, peer)}`);
  if (code.includes('_ALERT_')) return explainAlert(code, peer);
  if (ABOUT_TLS.test(code)) return new ConnectionFault(code, `${peer.host} does not speak TLS as it should: http:// instead of https://?`);
  return undefined;
}

/** Returns the fault of a new connection that was closed before the first byte of a reply. */
export function explainClose({ host, protocol, tls }: Peer): ConnectionFault {
  const why = protocol === 'https:' ? whetherOurs(tls) : 'https:// instead of http://?';
  return new ConnectionFault('CLOSED', `${host} takes the connection and closes it without an answer: ${why}`, false);
}

/** Returns the fault of a handshake that was closed without an alert. The other side may be restarting. */
export function explainBrokenHandshake({ host, tls }: Peer): ConnectionFault {
  return new ConnectionFault('ECONNRESET', `${host} closes the connection within the TLS handshake: ${whetherOurs(tls)}`, false);
}

/** Returns the fault of a reply that is a TLS alert, which servers send to a request without TLS; undefined for any other. */
export function explainNoHttp(data: unknown, { host, protocol }: Peer): ConnectionFault | undefined {
  if (protocol !== 'http:' || typeof data !== 'string' || !data.startsWith('\x15\x03')) return undefined;
  return new ConnectionFault('NO_HTTP', `${host} speaks TLS: https:// instead of http://`);
}

const ABOUT_THEIRS = /^(CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/;
const ABOUT_TLS = /^(ERR_SSL_|EPROTO$)/;
/** Codes of certificates from an unknown authority. */
const UNKNOWN = /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_(GET|VERIFY)|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE)/;
const NAMES_LENGTH_MAX = 80;

function wrongName(error: Error, { hostname }: Peer): string {
  const names = String((error as { cert?: { subjectaltname?: unknown } }).cert?.subjectaltname ?? '').replace(/\b(DNS|IP Address):/g, '');
  if (names === '') return `has a certificate that names no host: it needs one that names ${hostname}`;
  const first = names.length > NAMES_LENGTH_MAX ? `${names.slice(0, NAMES_LENGTH_MAX)}…` : names;
  return `has a certificate for ${first}, not for ${hostname}: is that the host in baseUrl?`;
}

function whatOfTheirs(code: string, { tls }: Peer): string {
  if (code === 'CERT_HAS_EXPIRED') return 'a certificate that has expired, or one in its chain: it needs a new one';
  if (code === 'CERT_NOT_YET_VALID')
    return 'a certificate that is not valid yet, or one in its chain: are the clocks right, here and there?';
  if (!UNKNOWN.test(code)) return 'a certificate that is not accepted';
  if (tls?.caFile) return `a certificate that is not of the authority in ${tls.caFile}, or comes without its chain`;
  return 'a certificate of an authority that is not known here: name that in tls.caFile, or have it send its whole chain';
}

/** Explains the alert with which the other side ended the handshake. */
function explainAlert(code: string, { host, hostname, tls }: Peer): ConnectionFault {
  const fault = (words: string): ConnectionFault => new ConnectionFault(code, `${host} ${words}`);
  if (code.endsWith('PROTOCOL_VERSION')) return fault('speaks no TLS of 1.2 or later');
  if (code.endsWith('UNRECOGNIZED_NAME')) return fault(`does not know the name ${hostname}: is that the host in baseUrl?`);
  if (!/CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED/.test(code)) return fault(`breaks off the TLS handshake: ${whetherOurs(tls)}`);
  if (tls?.certFile) return fault(`does not take our certificate in ${tls.certFile}: is it of an authority it knows, and not expired?`);
  return fault('wants a certificate of ours: name it in tls.certFile, and its key in tls.keyFile');
}

function whetherOurs(tls: Peer['tls']): string {
  if (tls?.certFile) return `is our certificate in ${tls.certFile} one it takes?`;
  return 'does it want a certificate of ours, in tls.certFile and tls.keyFile?';
}
