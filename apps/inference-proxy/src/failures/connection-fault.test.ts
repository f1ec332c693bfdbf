import { explainClose, explainNoHttp, explainTls, type Peer } from './connection-fault.js';

const PEER: Peer = { host: 'model.example:8443', hostname: 'model.example', protocol: 'https:', tls: null };
const OWN = { caFile: 'ca.pem', certFile: 'client.pem', keyFile: 'client.key' };

function makeError(code: string, more: object = {}): Error {
  return Object.assign(new Error('try running Node.js with --use-system-ca'), { code, ...more });
}

test.each<[code: string, tls: Peer['tls'], words: string]>([
  ['CERT_HAS_EXPIRED', null, 'certificate, or one in its chain, has expired. The upstream must renew it'],
  ['CERT_NOT_YET_VALID', null, 'certificate, or one in its chain, is not valid yet. Check the clocks of both sides'],
  ['CERT_REVOKED', null, 'certificate is not accepted'],
  [
    'SELF_SIGNED_CERT_IN_CHAIN',
    null,
    'certificate is signed by an unknown authority. Name the authority in tls.caFile, or let the upstream send its whole chain',
  ],
  [
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    { caFile: null, certFile: 'client.pem' },
    'certificate is signed by an unknown authority. Name the authority in tls.caFile, or let the upstream send its whole chain',
  ],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', OWN, 'certificate is not signed by the authority in ca.pem, or comes without its chain'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', null, 'upstream does not support TLS 1.2 or later'],
  ['ERR_SSL_TLSV1_UNRECOGNIZED_NAME', null, 'TLS handshake failed. Is the URL http://, not https://?'],
  ['ERR_SSL_TLSV1_ALERT_UNRECOGNIZED_NAME', null, 'upstream does not know the name model.example. Is the host in baseUrl right?'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', null, 'client certificate required. Set tls.certFile and tls.keyFile'],
  [
    'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
    OWN,
    'client certificate rejected: check client.pem. The upstream must know its authority, and it must not have expired',
  ],
  [
    'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
    null,
    'upstream rejected the TLS handshake. Does it require a client certificate (tls.certFile, tls.keyFile)?',
  ],
  [
    'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
    OWN,
    'upstream rejected the TLS handshake. Does it accept the client certificate in client.pem?',
  ],
  ['ERR_SSL_WRONG_VERSION_NUMBER', null, 'TLS handshake failed. Is the URL http://, not https://?'],
  ['EPROTO', null, 'TLS handshake failed. Is the URL http://, not https://?'],
])('%s says what to do', (code, tls, words) => {
  const fault = explainTls(makeError(code), { ...PEER, tls });
  expect({ message: fault?.message, isOperatorsFault: fault?.isOperatorsFault }).toEqual({
    message: `model.example:8443: ${words} (${code})`,
    isOperatorsFault: true,
  });
});

test.each([
  [
    'DNS:a.example, DNS:b.example, IP Address:10.0.0.1',
    'certificate is for a.example, b.example, 10.0.0.1, not for model.example. Is the host in baseUrl right?',
  ],
  [undefined, 'certificate names no host. It must name model.example'],
  [`DNS:${'x'.repeat(100)}`, `certificate is for ${'x'.repeat(80)}…, not for model.example. Is the host in baseUrl right?`],
])('a wrong name is reported with the names of the certificate: %s', (subjectaltname, words) => {
  const fault = explainTls(makeError('ERR_TLS_CERT_ALTNAME_INVALID', { cert: { subjectaltname } }), PEER);
  expect(fault?.message).toBe(`model.example:8443: ${words} (ERR_TLS_CERT_ALTNAME_INVALID)`);
});

test('other errors are not explained', () => {
  expect(explainTls(makeError('ECONNREFUSED'), PEER)).toBeUndefined();
  expect(explainTls(new Error('no code'), PEER)).toBeUndefined();
  expect(explainTls(makeError('CERT_HAS_EXPIRED'), { ...PEER, protocol: 'http:' })).toBeUndefined();
});

test('a connection closed without a reply', () => {
  const closed = 'model.example:8443: upstream closed the connection without replying.';
  expect(explainClose({ ...PEER, protocol: 'http:' }).message).toBe(`${closed} Is the URL https://, not http://? (CLOSED)`);
  expect(explainClose(PEER).message).toBe(`${closed} Does it require a client certificate (tls.certFile, tls.keyFile)? (CLOSED)`);
  expect(explainClose({ ...PEER, tls: OWN }).message).toBe(`${closed} Does it accept the client certificate in client.pem? (CLOSED)`);
});

test('a TLS alert in answer to plain HTTP, and no other answer', () => {
  const plain = { ...PEER, protocol: 'http:' };
  expect(explainNoHttp('\x15\x03\x01\x00\x02\x02\x46', plain)?.message).toBe(
    'model.example:8443: upstream expects TLS. Use https:// instead of http:// (NO_HTTP)',
  );
  for (const [data, peer] of [
    ['220 mail ready', plain],
    [undefined, plain],
    ['\x15\x03\x01', PEER],
  ] as const)
    expect(explainNoHttp(data, peer)).toBeUndefined();
});
