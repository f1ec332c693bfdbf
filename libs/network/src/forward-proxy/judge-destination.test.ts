import { AddressRefusedError, type Resolver } from '../address-guard.js';
import { judgeByAddress, judgeByName } from './judge-destination.js';

const answering =
  (...addresses: string[]): Resolver =>
  (_name, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
const failing: Resolver = (_name, done) => done(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }), []);

/** Returns what the proxy is asked for, or the refusal. */
const outcome = (judged: Promise<string>) =>
  judged.catch((error: Error) => (error instanceof AddressRefusedError ? 'refused' : error.message));

describe('a proxy that resolves names', () => {
  test.each([
    ['a public name', 'api.example', answering('8.8.8.8'), 'api.example'],
    ['a name that is unknown here', 'api.example', failing, 'api.example'],
    ['a private name', 'inside.example', answering('10.0.0.1', '127.0.0.1'), 'refused'],
    ['a name with a public and a metadata address', 'api.example', answering('8.8.8.8', '169.254.169.254'), 'refused'],
    ['a name with a public and a private address', 'api.example', answering('8.8.8.8', '10.0.0.1'), 'refused'],
    ['a public name without a dot that is known here', 'ai', answering('8.8.8.8'), 'ai'],
    ['a public name that looks like a private one', 'api.internal.example', failing, 'api.internal.example'],
    ['a name of a metadata service', 'metadata.google.internal', failing, 'refused'],
    ['a private address', '10.0.0.1', failing, 'refused'],
    ['an address in another notation', '::ffff:127.0.0.1', failing, 'refused'],
    ['a public address', '8.8.8.8', failing, '8.8.8.8'],
  ])('%s', async (_what, hostname, resolve, expected) => {
    expect(await outcome(judgeByName(false, resolve)(hostname))).toBe(expected);
  });

  test.each([
    'vllm',
    'vllm.',
    'a.localhost',
    'a.local',
    'a.internal',
    'a.svc',
    'a.ns.svc.cluster.local',
    'A.LAN',
    'a.intranet',
    'a.corp.',
    'a.home',
    'a.home.arpa',
  ])('the private name %s that is unknown here needs allowPrivateNetwork, each time', async (hostname) => {
    const judge = judgeByName(false, failing);
    const refusal = new AddressRefusedError(`${hostname} is a name of a private network, and allowPrivateNetwork is not set`);
    for (let n = 0; n < 2; n++) await expect(judge(hostname)).rejects.toEqual(refusal);
    expect(await judgeByName(true, failing)(hostname)).toBe(hostname);
  });

  test('allowPrivateNetwork allows private addresses beside public ones, and no metadata beside them', async () => {
    const mixed = [answering('8.8.8.8', '10.0.0.1'), answering('10.0.0.1', '169.254.169.254')];
    expect(await Promise.all(mixed.map((resolve) => outcome(judgeByName(true, resolve)('inside.example'))))).toEqual([
      'inside.example',
      'refused',
    ]);
  });

  test('allowPrivateNetwork allows no metadata', async () => {
    const judge = judgeByName(true, answering('169.254.169.254'));
    expect(await Promise.all(['169.254.169.254', 'inside.example', '10.0.0.1'].map((name) => outcome(judge(name))))).toEqual([
      'refused',
      'refused',
      '10.0.0.1',
    ]);
  });

  test('a name server that says nothing is waited for once', async () => {
    let asked = 0;
    const judge = judgeByName(false, () => {
      asked += 1;
    });
    expect([await judge('api.example'), await judge('api.example'), asked]).toEqual(['api.example', 'api.example', 1]);
  });
});

describe('a proxy that gets the judged address', () => {
  test.each([
    ['the public address', 'hook.example', answering('10.0.0.1', '2606:4700::1111', '8.8.8.8'), '8.8.8.8'],
    ['IPv6 where there is no other', 'hook.example', answering('2606:4700::1111'), '2606:4700::1111'],
    ['a private name', 'hook.example', answering('10.0.0.1'), 'refused'],
    ['a name that is unknown here', 'hook.example', failing, 'no such name'],
    ['a private address', '127.0.0.1', failing, 'refused'],
  ])('%s', async (_what, hostname, resolve, expected) => {
    expect(await outcome(judgeByAddress(false, resolve)(hostname))).toBe(expected);
  });
});
