import { explainClose, explainNoHttp, explainTls, type Peer } from './connection-fault.js';

const PEER: Peer = { host: 'model.example:8443', hostname: 'model.example', protocol: 'https:', tls: null };
const OWN = { caFile: 'ca.pem', certFile: 'client.pem', keyFile: 'client.key' };

function errorOf(code: string, more: object = {}): Error {
  return Object.assign(new Error('try running Node.js with --use-system-ca'), { code, ...more });
}

test.each<[code: string, tls: Peer['tls'], words: string]>([
  ['CERT_HAS_EXPIRED', null, 'has a certificate that has expired, or one in its chain: it needs a new one'],
  ['CERT_NOT_YET_VALID', null, 'has a certificate that is not valid yet, or one in its chain: are the clocks right, here and there?'],
  ['CERT_REVOKED', null, 'has a certificate that is not accepted'],
  [
    'SELF_SIGNED_CERT_IN_CHAIN',
    null,
    'has a certificate of an authority that is not known here: name that in tls.caFile, or have it send its whole chain',
  ],
  [
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    { caFile: null, certFile: 'client.pem' },
    'has a certificate of an authority that is not known here: name that in tls.caFile, or have it send its whole chain',
  ],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', OWN, 'has a certificate that is not of the authority in ca.pem, or comes without its chain'],
  ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', null, 'speaks no TLS of 1.2 or later'],
  ['ERR_SSL_TLSV1_UNRECOGNIZED_NAME', null, 'does not speak TLS as it should: http:// instead of https://?'],
  ['ERR_SSL_TLSV1_ALERT_UNRECOGNIZED_NAME', null, 'does not know the name model.example: is that the host in baseUrl?'],
  ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', null, 'wants a certificate of ours: name it in tls.certFile, and its key in tls.keyFile'],
  ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', OWN, 'does not take our certificate in client.pem: is it of an authority it knows, and not expired?'],
  [
    'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
    null,
    'breaks off the TLS handshake: does it want a certificate of ours, in tls.certFile and tls.keyFile?',
  ],
  ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', OWN, 'breaks off the TLS handshake: is our certificate in client.pem one it takes?'],
  ['ERR_SSL_WRONG_VERSION_NUMBER', null, 'does not speak TLS as it should: http:// instead of https://?'],
  ['EPROTO', null, 'does not speak TLS as it should: http:// instead of https://?'],
])('%s says what to do', (code, tls, words) => {
  const fault = explainTls(errorOf(code), { ...PEER, tls });
  expect({ message: fault?.message, isOperatorsFault: fault?.isOperatorsFault }).toEqual({
    message: `model.example:8443 ${words} (${code})`,
    isOperatorsFault: true,
  });
});

test.each([
  [
    'DNS:a.example, DNS:b.example, IP Address:10.0.0.1',
    'has a certificate for a.example, b.example, 10.0.0.1, not for model.example: is that the host in baseUrl?',
  ],
  [undefined, 'has a certificate that names no host: it needs one that names model.example'],
  [`DNS:${'x'.repeat(100)}`, `has a certificate for ${'x'.repeat(80)}…, not for model.example: is that the host in baseUrl?`],
])('a wrong name is reported with the names of the certificate: %s', (subjectaltname, words) => {
  const fault = explainTls(errorOf('ERR_TLS_CERT_ALTNAME_INVALID', { cert: { subjectaltname } }), PEER);
  expect(fault?.message).toBe(`model.example:8443 ${words} (ERR_TLS_CERT_ALTNAME_INVALID)`);
});

test('other errors are not explained', () => {
  expect(explainTls(errorOf('ECONNREFUSED'), PEER)).toBeUndefined();
  expect(explainTls(new Error('no code'), PEER)).toBeUndefined();
  expect(explainTls(errorOf('CERT_HAS_EXPIRED'), { ...PEER, protocol: 'http:' })).toBeUndefined();
});

test('a connection closed without a reply', () => {
  const closed = 'model.example:8443 takes the connection and closes it without an answer:';
  expect(explainClose({ ...PEER, protocol: 'http:' }).message).toBe(`${closed} https:// instead of http://? (CLOSED)`);
  expect(explainClose(PEER).message).toBe(`${closed} does it want a certificate of ours, in tls.certFile and tls.keyFile? (CLOSED)`);
  expect(explainClose({ ...PEER, tls: OWN }).message).toBe(`${closed} is our certificate in client.pem one it takes? (CLOSED)`);
});

test('a TLS alert in answer to plain HTTP, and no other answer', () => {
  const plain = { ...PEER, protocol: 'http:' };
  expect(explainNoHttp('\x15\x03\x01\x00\x02\x02\x46', plain)?.message).toBe(
    'model.example:8443 speaks TLS: https:// instead of http:// (NO_HTTP)',
  );
  for (const [data, peer] of [
    ['220 mail ready', plain],
    [undefined, plain],
    ['\x15\x03\x01', PEER],
  ] as const)
    expect(explainNoHttp(data, peer)).toBeUndefined();
});
