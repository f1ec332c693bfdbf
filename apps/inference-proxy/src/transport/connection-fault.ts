import type { UpstreamTls } from '#contracts/catalog.js';

/** Whom a connection is made to, and how. */
export interface Peer {
  /** With the port, where it has one. */
  host: string;
  hostname: string;
  protocol: string;
  tls: UpstreamTls | null | undefined;
}

/**
 * Why no connection stands, and what to do about it: in words of ours that begin with who is called, and end with the code it is
 * known by. What the other side says of itself is in it only as the names of a certificate.
 */
export class ConnectionFault extends Error {
  override readonly name = 'ConnectionFault';

  constructor(
    readonly code: string,
    words: string,
    /** The entry in the catalog, or what it names, has to be mended, for all that can be told. */
    readonly isOperatorsFault = true,
  ) {
    super(`${words} (${code})`);
  }
}

/** What an error of TLS means, before or after the handshake. Undefined for errors of other kinds, and for those without a cure. */
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

/** A new connection that was closed before a byte of an answer. */
export function explainClose({ host, protocol, tls }: Peer): ConnectionFault {
  const why = protocol === 'https:' ? whetherOurs(tls) : 'https:// instead of http://?';
  return new ConnectionFault('CLOSED', `${host} takes the connection and closes it without an answer: ${why}`, false);
}

/** The other side has broken off the handshake without saying why: it may be about to restart. */
export function explainBrokenHandshake({ host, tls }: Peer): ConnectionFault {
  return new ConnectionFault('ECONNRESET', `${host} closes the connection within the TLS handshake: ${whetherOurs(tls)}`, false);
}

/** An answer that is no HTTP, if it is an alert of TLS: what servers say to a request that comes in plain. */
export function explainNoHttp(data: unknown, { host, protocol }: Peer): ConnectionFault | undefined {
  if (protocol !== 'http:' || typeof data !== 'string' || !data.startsWith('\x15\x03')) return undefined;
  return new ConnectionFault('NO_HTTP', `${host} speaks TLS: https:// instead of http://`);
}

const ABOUT_THEIRS = /^(CERT_|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/;
const ABOUT_TLS = /^(ERR_SSL_|EPROTO$)/;
/** Nobody we know vouches for it. */
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

/** What the other side says as it breaks off. */
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
