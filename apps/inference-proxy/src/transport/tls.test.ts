import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket, TlsOptions } from 'node:tls';
import type { Upstream } from '#contracts/catalog.js';
import { FaultServer, wholeReply } from '#testing/fault-server.js';
import { TestAuthority, type TestCertificate } from '#testing/test-certificates.js';
import { upstreamAt } from '../../test/upstream-calls.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import { postStream } from './post-stream.js';
import { createUpstreamPool } from './upstream-pool.js';

const authority = new TestAuthority();
const stranger = new TestAuthority('Somebody else');
const good = authority.issue('upstream', { hosts: ['127.0.0.1', 'localhost'] });
const { UPSTREAM_SECRETS_DIR } = process.env;
const clock = performance.now;

let folder: string;
let server: FaultServer | undefined;
/** Names differ between tests, because files are cached by name. */
let prefix: string;
let tests = 0;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  process.env.UPSTREAM_SECRETS_DIR = folder;
  prefix = `t${tests++}-`;
});
afterEach(async () => {
  performance.now = clock;
  process.env.UPSTREAM_SECRETS_DIR = UPSTREAM_SECRETS_DIR;
  if (UPSTREAM_SECRETS_DIR === undefined) delete process.env.UPSTREAM_SECRETS_DIR;
  rmSync(folder, { recursive: true });
  await server?.stop();
  server = undefined;
});

function put(name: string, text: string): string {
  writeFileSync(join(folder, prefix + name), text);
  return prefix + name;
}

/** Puts a key that may be used with the test's server. */
function putKey(text: string): string {
  put('client.key.hosts', `127.0.0.1:${server?.port}\n`);
  return put('client.key', text);
}

function folderNamed(name: string): string {
  mkdirSync(join(folder, prefix + name));
  return prefix + name;
}

async function serve(certificate: TestCertificate, options: TlsOptions = {}): Promise<FaultServer> {
  // Each call has its own connection; the body names the client that the server saw.
  server = await FaultServer.start(
    ({ socket }) => {
      const peer = (socket as TLSSocket).getPeerCertificate();
      socket.end(wholeReply(String(peer.subject?.CN ?? 'nobody'), { connection: 'close' }));
    },
    { tls: { ...certificate, ...options } },
  );
  return server;
}

/** Returns the body of the reply, or why there is none. */
async function call(upstream: Partial<Upstream>, host = '127.0.0.1', times = 1, between: () => void = () => {}): Promise<unknown[]> {
  const pool = createUpstreamPool(upstreamAt(`https://${host}:${server?.port}/v1`, upstream));
  const outcomes: unknown[] = [];
  for (let n = 0; n < times; n++) {
    const timeouts = { firstByteMs: 5_000, totalMs: 5_000 };
    const options = { path: '/', headers: {}, body: '', timeouts, bytesMax: 1_000 };
    outcomes.push(
      await postStream(pool, options, new AbortController().signal).then(
        async (reply) => (await reply.readAll('account')).toString(),
        ({ kind, code, isOperatorsFault }: UpstreamFailure) => ({ kind, code, isOperatorsFault }),
      ),
    );
    between();
  }
  await pool.destroy();
  return outcomes;
}

const NOT_TRUSTED = { kind: 'unreachable', code: 'model_unavailable', isOperatorsFault: true };

describe('the certificate of an upstream', () => {
  test('of an unknown authority is refused by default', async () => {
    await serve(good);
    expect(await call({})).toEqual([NOT_TRUSTED]);
    expect(server?.requests).toBe(0);
  });

  test('is refused also when the environment disables verification', async () => {
    await serve(good);
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      expect(await call({})).toEqual([NOT_TRUSTED]);
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
  });

  test('of the authority in its catalog entry is accepted', async () => {
    await serve(good);
    expect(await call({ tls: { caFile: put('ca.pem', authority.cert) } })).toEqual(['nobody']);
    expect(await call({ tls: { caFile: put('ca.pem', authority.cert) } }, 'localhost')).toEqual(['nobody']);
  });

  test.each<[string, () => TestCertificate]>([
    ['another authority', () => stranger.issue('upstream', { hosts: ['127.0.0.1'] })],
    ['another host', () => authority.issue('upstream', { hosts: ['other.example'] })],
    ['no host at all', () => authority.issue('127.0.0.1')],
    ['yesterday', () => authority.issue('upstream', { hosts: ['127.0.0.1'], isExpired: true })],
  ])('of %s is refused', async (_what, certificate) => {
    await serve(certificate());
    expect(await call({ tls: { caFile: put('ca.pem', authority.cert) } })).toEqual([NOT_TRUSTED]);
    expect(server?.requests).toBe(0);
  });

  test('an upstream that speaks an old TLS is refused', async () => {
    await serve(good, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
    expect(await call({ tls: { caFile: put('ca.pem', authority.cert) } })).toMatchObject([{ kind: 'unreachable' }]);
  });

  test('a server that never completes the handshake is a timeout of connectMs', async () => {
    server = await FaultServer.start();
    const timeouts = { connectMs: 1_000, firstByteMs: 5_000, idleMs: 5_000, totalMs: 5_000 };
    expect(await call({ timeouts })).toEqual([{ kind: 'unreachable', code: 'model_unavailable', isOperatorsFault: false }]);
  });
});

describe('our certificate', () => {
  const wanted = { requestCert: true, rejectUnauthorized: true, ca: authority.cert };
  const files = ({ cert, key }: TestCertificate) => ({
    caFile: put('ca.pem', authority.cert),
    certFile: put('client.pem', cert),
    keyFile: putKey(key),
  });

  test('is sent to its upstream only', async () => {
    await serve(good, wanted);
    expect(await call({ tls: files(authority.issue('tollgate')) })).toEqual(['tollgate']);
  });

  test('is required when the upstream asks for one', async () => {
    await serve(good, wanted);
    const [without] = await call({ tls: { caFile: put('ca.pem', authority.cert) } });
    const [wrong] = await call({ tls: files(stranger.issue('tollgate')) });
    expect([without, wrong]).toEqual([
      expect.objectContaining({ code: expect.stringMatching(/upstream_error|model_unavailable/) }),
      expect.objectContaining({ code: expect.stringMatching(/upstream_error|model_unavailable/) }),
    ]);
    expect(server?.requests).toBe(0);
  });

  test('is sent to no host that is not declared beside its key [sec-upstream-secret]', async () => {
    await serve(good, wanted);
    const { keyFile, ...others } = files(authority.issue('tollgate'));
    put('client.key.hosts', 'other.example');
    expect(await call({ tls: { ...others, keyFile } })).toEqual([NOT_TRUSTED]);
    expect(server?.connections).toBe(0);
  });

  test('that is replaced is sent by the next connection within a second, without a restart', async () => {
    await serve(good, wanted);
    const tls = files(authority.issue('the old one'));
    let turn = 0;
    const replace = (): void => {
      files(authority.issue('the new one'));
      performance.now = () => clock.call(performance) + 1_100 * ++turn;
    };
    expect(await call({ tls }, '127.0.0.1', 2, replace)).toEqual(['the old one', 'the new one']);
  });

  test('that is missing or invalid fails the connection until it is corrected', async () => {
    await serve(good);
    const caFile = put('ca.pem', authority.cert);
    expect(await call({ tls: { caFile: 'not-there.pem' } })).toEqual([NOT_TRUSTED]);
    expect(await call({ tls: { caFile, certFile: put('a.pem', 'no certificate'), keyFile: putKey('no key') } })).toEqual([NOT_TRUSTED]);
    const late = `${prefix}late.pem`;
    const arrive = (): void => {
      put('late.pem', authority.cert);
      performance.now = () => clock.call(performance) + 1_100;
    };
    expect(await call({ tls: { caFile: late } }, '127.0.0.1', 2, arrive)).toEqual([NOT_TRUSTED, 'nobody']);
  });
});

describe('a TLS failure says what to do', () => {
  const wanted = { requestCert: true, rejectUnauthorized: true, ca: authority.cert };
  const named = (use: 'ca.pem' | 'client.pem' | 'client.key'): string => `${prefix}${use}`;

  /** Returns the failure with the port as PORT, and without the code at its end. */
  async function readReason(upstream: Partial<Upstream>, protocol = 'https'): Promise<string> {
    const pool = createUpstreamPool(upstreamAt(`${protocol}://127.0.0.1:${server?.port}/v1`, upstream));
    const options = { path: '/', headers: {}, body: '{}', timeouts: { firstByteMs: 5_000, totalMs: 5_000 }, bytesMax: 1_000 };
    const failure: unknown = await postStream(pool, options, new AbortController().signal).catch((error: unknown) => error);
    await pool.destroy();
    if (!(failure instanceof UpstreamFailure)) throw new Error('it was answered');
    return `${failure.kind}: ${failure.detail}`.replace(`:${server?.port}`, ':PORT').replace(/ \(\S+\)$/, '');
  }

  function own({ cert, key } = authority.issue('tollgate')): Upstream['tls'] {
    return { caFile: put('ca.pem', authority.cert), certFile: put('client.pem', cert), keyFile: putKey(key) };
  }

  test('another host: both hosts are named', async () => {
    await serve(authority.issue('upstream', { hosts: ['other.example', 'third.example'] }));
    const words = 'certificate is for other.example, third.example, not for 127.0.0.1. Is the host in baseUrl right?';
    expect(await readReason({ tls: { caFile: put('ca.pem', authority.cert) } })).toBe(`unreachable: 127.0.0.1:PORT: ${words}`);
  });

  test('an authority that is not configured, and another than the configured one', async () => {
    await serve(good);
    expect([await readReason({}), await readReason({ tls: { caFile: put('ca.pem', stranger.cert) } })]).toEqual([
      'unreachable: 127.0.0.1:PORT: certificate is signed by an unknown authority. Name the authority in tls.caFile, or let the upstream send its whole chain',
      `unreachable: 127.0.0.1:PORT: certificate is not signed by the authority in ${named('ca.pem')}, or comes without its chain`,
    ]);
  });

  // The request may be in flight when the connection ends, and hide the reason of the end.
  test.each(['TLSv1.2', 'TLSv1.3'] as const)('a client certificate that is required, and one that is rejected (%s)', async (maxVersion) => {
    await serve(good, { ...wanted, maxVersion });
    expect(await readReason({ tls: { caFile: put('ca.pem', authority.cert) } })).toMatch(
      /^un\w+: 127.0.0.1:PORT: .*client certificate.*tls.certFile/,
    );
    expect(await readReason({ tls: own(stranger.issue('tollgate')) })).toMatch(
      /^un\w+: 127.0.0.1:PORT: .*client certificate.* t\d+-client.pem/,
    );
    expect(server?.requests).toBe(0);
  });

  test.each<[what: string, files: () => Upstream['tls'], words: () => string]>([
    [
      'an authority that is none',
      () => ({ caFile: put('ca.pem', 'DER') }),
      () => `no certificate in the file ${named('ca.pem')}: it has to be in PEM`,
    ],
    [
      'an authority that is damaged',
      () => ({ caFile: put('ca.pem', authority.cert.replace('MII', 'AAA')) }),
      () => `a certificate in the file ${named('ca.pem')} cannot be read`,
    ],
    [
      'a key that is none',
      () => ({ ...own(), keyFile: putKey('no key') }),
      () => `no key in the file ${named('client.key')}: it has to be in PEM, without a passphrase`,
    ],
    [
      'a key of another certificate',
      () => ({ ...own(), keyFile: putKey(authority.issue('other').key) }),
      () => `the certificate in ${named('client.pem')} and the key in ${named('client.key')} do not belong together`,
    ],
    ['a file that cannot be read', () => ({ caFile: folderNamed('ca.pem') }), () => `the file ${named('ca.pem')} cannot be read (EISDIR)`],
    ['a file that is not there', () => ({ caFile: 'not-there' }), () => 'no certificate or key in the file not-there'],
  ])('files of ours: %s', async (_what, files, words) => {
    await serve(good);
    expect(await readReason({ tls: files() })).toBe(`unreachable: ${words()}`);
    expect(server?.connections).toBe(0);
  });

  test('HTTPS to an HTTP server, and the reverse', async () => {
    server = await FaultServer.start(({ socket }) => void socket.end(Buffer.from([0x15, 3, 1, 0, 2, 2, 0x46])));
    expect(await readReason({}, 'http')).toBe('unreachable: 127.0.0.1:PORT: upstream expects TLS. Use https:// instead of http://');
    await server.stop();
    await serve(good);
    expect(await readReason({}, 'http')).toBe(
      'unanswered: 127.0.0.1:PORT: upstream closed the connection without replying. Is the URL https://, not http://?',
    );
  });
});
