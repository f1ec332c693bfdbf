import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Resolver } from '#network/address-guard.js';
import { ForwardProxies } from '#network/forward-proxy/forward-proxies.js';
import { ConnectProxy } from '#testing/connect-proxy.js';
import { FaultServer, wholeReply } from '#testing/fault-server.js';
import { TestAuthority } from '#testing/test-certificates.js';
import { WebhookClient } from './webhook-client.js';

const PUBLIC = '8.8.8.8';
const authority = new TestAuthority();
const authorities = getCACertificates();

let receiver: FaultServer;
let secure: FaultServer;
let proxy: ConnectProxy;
let client: WebhookClient | undefined;

beforeAll(async () => {
  setDefaultCACertificates([...authorities, authority.cert]);
  const accept = ({ socket }: { socket: NodeJS.WritableStream }) => void socket.write(wholeReply('{}'));
  const tls = authority.issue('receiver', { hosts: ['hook.example'] });
  [receiver, secure] = await Promise.all([FaultServer.start(accept), FaultServer.start(accept, { tls })]);
});
beforeEach(async () => {
  const routes = { [`${PUBLIC}:80`]: `127.0.0.1:${receiver.port}`, [`${PUBLIC}:443`]: `127.0.0.1:${secure.port}` };
  proxy = await ConnectProxy.start({ credentials: 'ada:secret', routes });
});
afterEach(async () => {
  await client?.close();
  await proxy.stop();
});
afterAll(async () => {
  setDefaultCACertificates(authorities);
  await Promise.all([receiver.stop(), secure.stop()]);
});

/** Sends one message through the proxy and returns why it was not accepted. Names resolve to each of the answers in turn. */
async function send(url: string, answers: string[][] = [[PUBLIC]], { allowPrivateNetwork = false, credentials = 'ada:secret' } = {}) {
  const left = [...answers];
  const resolve: Resolver = (_name, done) => {
    const addresses = (left.length > 1 ? left.shift() : left[0]) ?? [];
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  const address = proxy.url.replace('//', `//${credentials}@`);
  const proxies = new ForwardProxies({ httpsProxy: address, httpProxy: address, noProxy: 'none' });
  client = new WebhookClient({ proxies, resolve });
  const { accepted, answer } = await client.send({ url, allowPrivateNetwork, headers: {}, body: '{}' });
  return accepted ? undefined : answer;
}

test.each(['http://hook.example/', 'https://hook.example/'])(
  '%s is delivered through the proxy, at the address that was judged',
  async (url) => {
    const failure = await send(url);
    expect([failure, proxy.asked]).toEqual([undefined, [`${PUBLIC}:${url.startsWith('https') ? 443 : 80}`]]);
  },
);

test('the certificate is that of the name, though the proxy gets an address', async () => {
  expect(await send('https://other.example/')).toMatch(/Host: other\.example\. is not in the cert/);
});

describe('a webhook reaches no address through the proxy that it would not reach without [fault-network]', () => {
  const NEVER = ['http://169.254.169.254/', 'http://metadata.google.internal/', 'http://0xa9fea9fe/', 'http://[::ffff:169.254.169.254]/'];
  const PRIVATE = ['http://127.0.0.1/', 'http://10.0.0.1/', 'http://[::1]/', 'http://2130706433/'];

  test.each([...NEVER, ...PRIVATE])('%s', async (url) => {
    const failure = await send(url);
    expect([failure, proxy.asked]).toEqual([expect.stringMatching(/is never called|is a private address/), []]);
  });

  test.each(NEVER)('%s, also with allowPrivateNetwork', async (url) => {
    const failure = await send(url, undefined, { allowPrivateNetwork: true });
    expect([failure, proxy.asked]).toEqual([expect.stringMatching(/is never called/), []]);
  });

  test.each([['127.0.0.1'], ['10.0.0.1'], ['169.254.169.254'], ['::1']])('a name that is %s', async (address) => {
    const failure = await send('https://hook.example/', [[address]]);
    expect([failure, proxy.asked]).toEqual([expect.stringMatching(/^hook\.example is .*, which /), []]);
  });

  test('of several addresses the proxy gets one that is allowed', async () => {
    const failure = await send('http://hook.example/', [['10.0.0.1', PUBLIC, '127.0.0.1']]);
    expect([failure, proxy.asked]).toEqual([undefined, [`${PUBLIC}:80`]]);
  });

  test('a name that has another address for the proxy: it never gets a name [fault-rebinding]', async () => {
    const failure = await send('http://hook.example/', [[PUBLIC], ['127.0.0.1']]);
    expect([failure, proxy.asked]).toEqual([undefined, [`${PUBLIC}:80`]]);
  });

  test('a redirect is not followed', async () => {
    proxy.routes = { [`${PUBLIC}:80`]: `127.0.0.1:${receiver.port}` };
    const before = receiver.requests;
    receiver.behave(({ socket }) => void socket.write(wholeReply('', { location: 'http://127.0.0.1/' }, 'HTTP/1.1 302 Found')));
    const failure = await send('http://hook.example/');
    receiver.behave(({ socket }) => void socket.write(wholeReply('{}')));
    expect([failure, receiver.requests - before, proxy.asked]).toEqual(['status 302', 1, [`${PUBLIC}:80`]]);
  });
});

test('a private address with allowPrivateNetwork goes through the proxy', async () => {
  const url = `http://127.0.0.1:${receiver.port}/`;
  expect([await send(url, undefined, { allowPrivateNetwork: true }), proxy.asked]).toEqual([undefined, [new URL(url).host]]);
});

test('the owner of a webhook learns of a fault of the proxy, and not where it is or its credentials', async () => {
  const failure = await send('http://hook.example/', undefined, { credentials: 'ada:wrong' });
  expect(failure).toBe('the forward proxy does not accept our credentials: check those in HTTP_PROXY (407)');
});
