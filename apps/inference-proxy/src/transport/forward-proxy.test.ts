import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Upstream } from '#contracts/catalog.js';
import type { Resolver } from '#network/address-guard.js';
import { ForwardProxies, NO_FORWARD_PROXIES } from '#network/forward-proxy/forward-proxies.js';
import { ConnectProxy, refuse } from '#testing/connect-proxy.js';
import { FaultServer, wholeReply } from '#testing/fault-server.js';
import { TestAuthority } from '#testing/test-certificates.js';
import { upstreamAt } from '../../test/upstream-calls.js';
import type { UpstreamFailure } from '../failures/upstream-failure.js';
import { postStream } from './post-stream.js';
import { useForwardProxies } from './upstream-connector.js';
import { createUpstreamPool } from './upstream-pool.js';

const authority = new TestAuthority();
const certificate = authority.issue('upstream', { hosts: ['api.example', '127.0.0.1'] });
const unknownHere: Resolver = (_name, done) => done(Object.assign(new Error('unknown'), { code: 'ENOTFOUND' }), []);
const CREDENTIALS = 'ada:quiet-orange';
const { UPSTREAM_SECRETS_DIR } = process.env;

let folder: string;
let plain: FaultServer;
let secure: FaultServer;
let proxy: ConnectProxy;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'secrets-'));
  process.env.UPSTREAM_SECRETS_DIR = folder;
  writeFileSync(join(folder, 'proxy-test-ca.pem'), authority.cert);
  const answer = ({ socket, number }: { socket: NodeJS.WritableStream; number: number }) =>
    void socket.write(wholeReply(`reply ${number}`));
  [plain, secure] = await Promise.all([FaultServer.start(answer), FaultServer.start(answer, { tls: certificate })]);
});
beforeEach(async () => {
  const routes = { 'api.example:443': `127.0.0.1:${secure.port}`, 'api.example:80': `127.0.0.1:${plain.port}` };
  proxy = await ConnectProxy.start({ credentials: CREDENTIALS, routes });
  use({ httpsProxy: withCredentials(proxy), httpProxy: withCredentials(proxy) });
});
afterEach(async () => {
  useForwardProxies(NO_FORWARD_PROXIES);
  await proxy.stop();
});
afterAll(async () => {
  await Promise.all([plain.stop(), secure.stop()]);
  rmSync(folder, { recursive: true });
  if (UPSTREAM_SECRETS_DIR === undefined) delete process.env.UPSTREAM_SECRETS_DIR;
  else process.env.UPSTREAM_SECRETS_DIR = UPSTREAM_SECRETS_DIR;
});

const use = (settings: Partial<ConstructorParameters<typeof ForwardProxies>[0]>): void =>
  useForwardProxies(new ForwardProxies({ httpsProxy: 'none', httpProxy: 'none', noProxy: 'none', ...settings }));
const withCredentials = ({ url }: ConnectProxy, credentials = CREDENTIALS): string => url.replace('//', `//${credentials}@`);

/** Returns the bodies of `times` calls after another, or why there is none. */
async function call(baseUrl: string, over: Partial<Upstream> = {}, { times = 1, resolve = unknownHere } = {}): Promise<unknown[]> {
  const tls = baseUrl.startsWith('https:') ? { caFile: 'proxy-test-ca.pem' } : null;
  const pool = createUpstreamPool(upstreamAt(baseUrl, { tls, allowPrivateNetwork: false, ...over }), resolve);
  const outcomes: unknown[] = [];
  for (let n = 0; n < times; n++) {
    const options = { path: '/', headers: {}, body: '', timeouts: { firstByteMs: 60_000, totalMs: 60_000 }, bytesMax: 1_000 };
    outcomes.push(
      await postStream(pool, options, new AbortController().signal).then(
        async (reply) => (await reply.readAll('account')).toString(),
        ({ kind, code, detail, isOperatorsFault }: UpstreamFailure) => ({ kind, code, detail, isOperatorsFault }),
      ),
    );
    await new Promise(setImmediate); // a socket is used again in the turn after its reply
  }
  await pool.destroy();
  return outcomes;
}

const failure = (detail: string, isOperatorsFault: boolean) => ({
  kind: 'unreachable',
  code: 'model_unavailable',
  detail,
  isOperatorsFault,
});

describe('an upstream behind a forward proxy', () => {
  test.each(['https://api.example/v1', 'http://api.example/v1'])(
    '%s: the name is the proxy’s, and one tunnel serves all calls',
    async (url) => {
      expect(await call(url, {}, { times: 2 })).toEqual(['reply 1', 'reply 2']);
      expect(proxy.asked).toEqual([`api.example:${url.startsWith('https') ? 443 : 80}`]);
    },
  );

  test('a proxy with TLS', async () => {
    const tls = authority.issue('proxy', { hosts: ['127.0.0.1'] });
    const other = await ConnectProxy.start({ tls, routes: proxy.routes });
    use({ httpsProxy: other.url });
    expect(await call('https://api.example/v1')).toEqual([
      failure(
        `forward proxy 127.0.0.1:${other.port} has no certificate or TLS that is accepted: check HTTPS_PROXY, and NODE_EXTRA_CA_CERTS ` +
          '(UNABLE_TO_VERIFY_LEAF_SIGNATURE) (PROXY_UNREACHABLE)',
        true,
      ),
    ]);
    await other.stop();
  });

  test('the certificate is that of the upstream, not of the address that answers', async () => {
    proxy.routes = { 'other.example:443': `127.0.0.1:${secure.port}` };
    const [found] = (await call('https://other.example/v1')) as [{ detail: string }];
    expect(found.detail).toMatch(/^other\.example: certificate is for .*, not for other\.example/);
  });

  test('NO_PROXY and another scheme are called directly', async () => {
    use({ httpProxy: withCredentials(proxy), noProxy: '127.0.0.0/8' });
    const reached = await call(`http://127.0.0.1:${plain.port}/v1`, { allowPrivateNetwork: true });
    use({ httpProxy: withCredentials(proxy) });
    reached.push(...(await call(`https://127.0.0.1:${secure.port}/v1`, { allowPrivateNetwork: true })));
    expect([reached, proxy.asked]).toEqual([['reply 1', 'reply 1'], []]);
  });

  test('an entry has its own proxy, or none', async () => {
    const own = await ConnectProxy.start({ routes: proxy.routes });
    use({ httpsProxy: proxy.url, forwardProxies: own.url });
    expect(await call('https://api.example/v1', { proxy: own.url })).toEqual(['reply 1']);
    expect(await call(`https://127.0.0.1:${secure.port}/v1`, { proxy: 'off', allowPrivateNetwork: true })).toEqual(['reply 1']);
    expect([proxy.asked, own.asked]).toEqual([[], ['api.example:443']]);
    await own.stop();
  });

  test('NO_PROXY wins over the proxy of an entry', async () => {
    use({ forwardProxies: proxy.url, noProxy: '127.0.0.0/8' });
    const entry = { proxy: proxy.url, allowPrivateNetwork: true, apiKeyEnv: 'UPSTREAM_KEY_TEST' };
    expect(await call(`http://127.0.0.1:${plain.port}/v1`, entry)).toEqual(['reply 1']);
    expect(proxy.asked).toEqual([]);
  });

  test.each<[string, Partial<Upstream>]>([
    ['a key', { apiKeyEnv: 'UPSTREAM_KEY_TEST' }],
    ['a key in a file', { apiKeyFile: 'key' }],
    ['a secret header', { headers: { 'x-route': 'a', 'api-key': { env: 'UPSTREAM_KEY_TEST' } } }],
  ])('an entry sends %s in the clear by no proxy that it names [sec-upstream-secret]', async (_what, entry) => {
    const own = await ConnectProxy.start({ routes: proxy.routes });
    use({ httpProxy: withCredentials(proxy), forwardProxies: own.url });
    const words =
      `forward proxy 127.0.0.1:${own.port} would get the secrets for api.example in the clear: ` +
      'use https:// in baseUrl, or remove proxy from the entry (PROXY_IN_CLEAR)';
    const over = { ...entry, proxy: own.url };
    expect(await call('http://api.example/v1', over)).toEqual([failure(words, true)]);
    expect(await call('https://api.example/v1', over)).toEqual(['reply 1']);
    // HTTP_PROXY is the operator's choice, and a header without a secret needs none.
    expect(await call('http://api.example/v1', entry)).toEqual(['reply 1']);
    expect(await call('http://api.example/v1', { headers: { 'x-route': 'a' }, proxy: own.url })).toEqual(['reply 1']);
    expect([proxy.asked, own.asked]).toEqual([['api.example:80'], ['api.example:443', 'api.example:80']]);
    await own.stop();
  });

  test('an entry cannot name a proxy that the operator has not declared', async () => {
    const other = await ConnectProxy.start({ routes: proxy.routes });
    const words = `forward proxy 127.0.0.1:${other.port} is not declared: add ${other.url} to FORWARD_PROXIES of the inference-proxy`;
    expect(await call('https://api.example/v1', { proxy: other.url })).toEqual([failure(`${words} (PROXY_UNDECLARED)`, true)]);
    expect([other.asked, other.openSockets]).toEqual([[], 0]);
    await other.stop();
  });
});

describe('addresses behind a forward proxy [fault-network]', () => {
  const inside: Resolver = (_name, done) => done(null, [{ address: '10.0.0.1', family: 4 }]);

  test('a name that is private here is refused before the proxy is asked', async () => {
    const found = await call('https://inside.example/v1', {}, { resolve: inside });
    const why = 'inside.example is 10.0.0.1, which is a private address, and allowPrivateNetwork is not set';
    expect([found, proxy.asked]).toEqual([[failure(`ADDRESS_REFUSED ${why}`, true)], []]);
  });

  test('with allowPrivateNetwork it is called', async () => {
    proxy.routes = { 'inside.example:80': `127.0.0.1:${plain.port}` };
    expect(await call('http://inside.example/v1', { allowPrivateNetwork: true }, { resolve: inside })).toEqual(['reply 1']);
  });

  test.each(['http://10.0.0.1/v1', 'http://169.254.169.254/v1', 'http://metadata.google.internal/v1', 'http://[::ffff:127.0.0.1]/v1'])(
    '%s is refused',
    async (url) => {
      const [found] = (await call(url)) as [{ detail: string }];
      expect([found.detail, proxy.asked]).toEqual([expect.stringMatching(/^ADDRESS_REFUSED /), []]);
    },
  );
});

describe('a proxy that opens no tunnel fails the call in one line, without credentials', () => {
  const at = () => `forward proxy 127.0.0.1:${proxy.port}`;

  test('wrong credentials', async () => {
    use({ httpsProxy: withCredentials(proxy, 'ada:wrong-secret') });
    const words = `${at()} does not accept our credentials: check those in HTTPS_PROXY (407) (PROXY_407)`;
    expect(await call('https://api.example/v1')).toEqual([failure(words, true)]);
  });

  test.each([
    ['403 Forbidden', 'allows no tunnel to api.example:443: allow CONNECT to that host and port there (403) (PROXY_403)', true],
    ['302 Found', 'allows no tunnel to api.example:443: allow CONNECT to that host and port there (302) (PROXY_302)', true],
    ['503 Service Unavailable', 'cannot reach api.example:443 (503) (PROXY_503)', false],
  ])('%s', async (status, words, isOperatorsFault) => {
    proxy.misbehave = (socket) => refuse(socket, status);
    expect(await call('https://api.example/v1')).toEqual([failure(`${at()} ${words}`, isOperatorsFault)]);
  });

  test('a proxy that is down, and is used again when it is back', async () => {
    const { port } = proxy;
    await proxy.stop();
    const words = `forward proxy 127.0.0.1:${port} cannot be reached (ECONNREFUSED) (PROXY_UNREACHABLE)`;
    expect(await call('https://api.example/v1')).toEqual([failure(words, false)]);
    proxy = await ConnectProxy.start({ credentials: CREDENTIALS, routes: proxy.routes, port });
    expect(await call('https://api.example/v1')).toEqual(['reply 1']);
  });

  test.each([
    ['closes', (socket: NodeJS.WritableStream) => void socket.end()],
    ['resets', (socket: { destroy(): void }) => void socket.destroy()],
    ['speaks no HTTP', (socket: NodeJS.WritableStream) => void socket.end('SSH-2.0-OpenSSH_9.7\r\n')],
    ['sends an endless head', (socket: NodeJS.WritableStream) => void socket.write(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(20_000)}`)],
  ])('a server that %s', async (_what, misbehave) => {
    proxy.misbehave = misbehave as typeof proxy.misbehave;
    const words = `${at()} does not answer CONNECT as an HTTP proxy does: check HTTPS_PROXY (PROXY_CLOSED)`;
    expect(await call('https://api.example/v1')).toEqual([failure(words, false)]);
  });

  test('a proxy that says nothing within connectMs', async () => {
    proxy.misbehave = () => {};
    const timeouts = { connectMs: 50, firstByteMs: 60_000, idleMs: 60_000, totalMs: 60_000 };
    const words = `${at()} has opened no connection to api.example:443 within 50 ms (PROXY_TIMEOUT)`;
    expect(await call('https://api.example/v1', { timeouts })).toEqual([failure(words, false)]);
  });
});

describe('a call that ends while its tunnel is opened', () => {
  let silent: Server;
  afterEach(() => silent.close());

  test('closes the socket to the proxy at once', async () => {
    let closed = (): void => {};
    const connected = new Promise<{ isClosed: Promise<void> }>((resolve) => {
      const isClosed = new Promise<void>((done) => {
        closed = done;
      });
      silent = createServer((socket) => {
        socket.on('error', () => {}).on('close', closed);
        socket.once('data', () => resolve({ isClosed }));
      }).listen(0, '127.0.0.1');
    });
    await new Promise((resolve) => silent.once('listening', resolve));
    use({ httpsProxy: `http://127.0.0.1:${(silent.address() as { port: number }).port}` });
    const pool = createUpstreamPool(upstreamAt('https://api.example/v1', { allowPrivateNetwork: false }), unknownHere);
    const leaves = new AbortController();
    const options = { path: '/', headers: {}, body: '', timeouts: { firstByteMs: 60_000 }, bytesMax: 1_000 };
    const reply = postStream(pool, options, leaves.signal);
    const { isClosed } = await connected;
    leaves.abort(new Error('the client has left'));
    await expect(reply).rejects.toThrow('the client has left');
    await isClosed;
    await pool.destroy();
  });
});

test('a stream passes a tunnel piece by piece', async () => {
  const server = await FaultServer.start(({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    socket.write('3\r\none\r\n');
    proxy.misbehave = undefined;
    finish = () => void socket.write('3\r\ntwo\r\n0\r\n\r\n');
  });
  let finish = (): void => {};
  proxy.routes = { 'api.example:80': `127.0.0.1:${server.port}` };
  const pool = createUpstreamPool(upstreamAt('http://api.example/v1', { allowPrivateNetwork: false }), unknownHere);
  const options = { path: '/', headers: {}, body: '', timeouts: { firstByteMs: 60_000, idleMs: 60_000 }, bytesMax: 1_000 };
  const reply = await postStream(pool, options, new AbortController().signal);
  const first = await reply.read();
  finish();
  const rest = await reply.readAll('account');
  expect([first?.join(''), rest.toString()]).toEqual(['one', 'two']);
  await pool.destroy();
  await server.stop();
});
