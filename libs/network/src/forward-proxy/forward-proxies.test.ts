import { inspect } from 'node:util';
import { loadConfig } from '#config/load-config.js';
import { ForwardProxies } from './forward-proxies.js';
import { ForwardProxyConfig, IsProxyList } from './forward-proxy.config.js';

class Config extends ForwardProxyConfig {
  @IsProxyList() forwardProxies = 'none';
}

const load = (environment: Record<string, string>) =>
  new ForwardProxies(loadConfig(Config, { NATS_USER: 'x', NATS_PASSWORD: 'x', ...environment }));
const SET = { HTTPS_PROXY: 'http://secure:3128', HTTP_PROXY: 'plain:8080' };

/** Returns the proxy of a URL, or `direct`. */
const proxyFor = (url: string, environment: Record<string, string>) => load(environment).forUrl(new URL(url))?.host ?? 'direct';

test.each([
  ['https://api.example.com/v1', SET, 'secure:3128'],
  ['http://api.example.com/v1', SET, 'plain:8080'],
  ['https://api.example.com/v1', { HTTP_PROXY: 'http://plain:8080' }, 'direct'],
  ['https://api.example.com/v1', {}, 'direct'],
  ['https://api.example.com/v1', { ...SET, https_proxy: 'http://lower:1' }, 'lower:1'],
  ['https://api.example.com/v1', { ...SET, https_proxy: '' }, 'secure:3128'],
  ['https://api.example.com/v1', { ...SET, NO_PROXY: 'other.example,example.com' }, 'direct'],
  ['https://api.example.com/v1', { ...SET, NO_PROXY: 'example.com', no_proxy: 'other.example' }, 'secure:3128'],
])('the proxy of %s with %j is %s', (url, environment, proxy) => {
  expect(proxyFor(url, environment as Record<string, string>)).toBe(proxy);
});

test.each([
  ['example.com', ['example.com', 'a.example.com', 'EXAMPLE.com.'], ['badexample.com', 'example.com.evil']],
  ['.example.com', ['example.com', 'a.b.example.com'], ['badexample.com']],
  ['*.example.com', ['a.example.com'], ['example.com']],
  ['example.com:8443', ['example.com:8443'], ['example.com', 'example.com:443']],
  ['example.com:443', ['example.com'], ['example.com:8443']],
  ['*', ['example.com', '10.0.0.1', '[::1]'], []],
  ['*:443', ['example.com'], ['example.com:8443']],
  ['a.example, b.example c.example', ['a.example', 'b.example', 'c.example'], ['d.example']],
  ['10.0.0.0/8', ['10.1.2.3'], ['11.0.0.1', 'ten.example']],
  ['fd00::/8', ['[fd12::1]'], ['[fe12::1]', '10.0.0.1']],
  ['127.0.0.1', ['127.0.0.1', '127.0.0.1:8443', '0x7f.1'], ['127.0.0.2']],
  ['::1', ['[::1]'], ['[::2]']],
  ['[::1]:8443', ['[::1]:8443', '[0:0::1]:8443'], ['[::1]']],
  ['svc', ['vllm.models.svc'], ['vllmsvc']],
])('NO_PROXY %s', (noProxy, direct, proxied) => {
  const found = [...direct, ...proxied].map((host) => proxyFor(`https://${host}/`, { ...SET, NO_PROXY: noProxy }));
  expect(found).toEqual([...direct.map(() => 'direct'), ...proxied.map(() => 'secure:3128')]);
});

test.each([
  ['HTTPS_PROXY', 'socks5://proxy:1080'],
  ['HTTPS_PROXY', 'http://proxy:3128/path'],
  ['HTTP_PROXY', 'http://user:secret%zz@proxy:3128'],
  ['FORWARD_PROXIES', 'http://proxy:3128, ftp://user:secret@proxy'],
  ['NO_PROXY', '10.0.0.0/33'],
  ['NO_PROXY', 'a.example,http://secret.example/'],
])('a wrong %s stops the start without a word of it: %s', (name, text) => {
  const start = () => load({ [name]: text });
  expect(start).toThrow(new RegExp(`^${name}: must be [^\\n]*$`));
  expect(start).not.toThrow(/secret/);
});

test('an upstream may name the declared proxies alone', () => {
  const proxies = load({ ...SET, FORWARD_PROXIES: 'http://user:pass@a.example:3128,https://b.example' });
  const named = ['http://a.example:3128', 'http://a.example:3128/', 'https://b.example:443', 'http://secure:3128', 'http://plain:8080'];
  const others = ['https://a.example:3128', 'http://a.example', 'http://c.example:3128'];
  expect([...named, ...others].map((address) => proxies.named(address)?.setting)).toEqual([
    ...['FORWARD_PROXIES', 'FORWARD_PROXIES', 'FORWARD_PROXIES', 'HTTPS_PROXY', 'HTTP_PROXY'],
    ...others.map(() => undefined),
  ]);
});

test('credentials are in the header of a CONNECT alone', () => {
  const proxy = load({ HTTPS_PROXY: 'http://ada:p%40ss@proxy:3128' }).forUrl(new URL('https://api.example.com'));
  expect(proxy?.headers).toEqual({ 'proxy-authorization': `Basic ${Buffer.from('ada:p@ss').toString('base64')}` });
  expect(inspect(proxy, { depth: 9, getters: false }) + JSON.stringify(proxy)).not.toMatch(/p%40ss|p@ss|ada|YWRh/);
});
