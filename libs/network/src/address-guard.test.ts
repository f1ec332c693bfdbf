import type { LookupAddress } from 'node:dns';
import { jest } from '@jest/globals';
import { AddressRefusedError, assertHostAllowed, guardedLookup, isAddressAllowed, type Resolver } from './address-guard.js';

describe('which addresses may be called [fault-network]', () => {
  /** Always refused, refused without `allowPrivateNetwork`, and never refused. */
  const [never, allowed, always] = [
    [false, false],
    [false, true],
    [true, true],
  ];

  test.each<[string, string, boolean[] | undefined]>([
    ['a public address', '93.184.216.34', always],
    ['a public address', '2606:4700::1111', always],
    ['next to a private range', '172.32.0.1', always],
    ['next to a private range', '11.0.0.1', always],
    ['next to link-local', '169.255.0.1', always],
    ['loopback', '127.0.0.1', allowed],
    ['loopback', '127.255.255.254', allowed],
    ['loopback', '::1', allowed],
    ['private', '10.1.2.3', allowed],
    ['private', '172.16.0.1', allowed],
    ['private', '172.31.255.255', allowed],
    ['private', '192.168.0.1', allowed],
    ['carrier', '100.64.0.1', allowed],
    ['unique local', 'fd12:3456::1', allowed],
    ['site local', 'fec0::1', allowed],
    ['documentation', '192.0.2.1', allowed],
    ['benchmarks', '198.18.0.1', allowed],
    ['reserved', '240.0.0.1', allowed],
    ['metadata', '169.254.169.254', never],
    ['metadata of containers', '169.254.170.2', never],
    ['link-local', '169.254.0.1', never],
    ['link-local', 'fe80::1', never],
    ['link-local with a zone', 'fe80::1%eth0', never],
    ['metadata of AWS', 'fd00:ec2::254', never],
    ['metadata of AWS, written out', 'fd00:0ec2:0:0:0:0:0:254', never],
    ['metadata of Google Cloud', 'fd20:ce::254', never],
    ['metadata of Alibaba Cloud', '100.100.100.200', never],
    ['metadata of Oracle Cloud', '192.0.0.192', never],
    ['host services of Azure', '168.63.129.16', never],
    ['this host', '0.0.0.0', never],
    ['this host', '0.1.2.3', never],
    ['this host', '::', never],
    ['multicast', '224.0.0.1', never],
    ['multicast', 'ff02::1', never],
    ['broadcast', '255.255.255.255', never],
    ['mapped metadata', '::ffff:169.254.169.254', never],
    ['mapped metadata', '::FFFF:A9FE:A9FE', never],
    ['mapped this host', '::ffff:0.0.0.0', never],
    ['mapped loopback', '::ffff:127.0.0.1', allowed],
    ['mapped public', '::ffff:8.8.8.8', always],
    ['compatible loopback', '::127.0.0.1', allowed],
    ['compatible metadata', '::a9fe:a9fe', never],
    ['translated metadata', '::ffff:0:169.254.169.254', never],
    ['NAT64 to metadata', '64:ff9b::169.254.169.254', never],
    ['NAT64 to private', '64:ff9b::10.0.0.1', allowed],
    ['NAT64 to public', '64:ff9b::8.8.8.8', always],
    ['NAT64 of our own network', '64:ff9b:1::8.8.8.8', allowed],
    ['NAT64 of our own network, to metadata', '64:ff9b:1::a9fe:a9fe', never],
    ['NAT64 of our own network, to metadata, by its /48', '64:ff9b:1:a9fe:a9:fe00::', never],
    ['6to4 of metadata', '2002:a9fe:a9fe::1', never],
    ['6to4 of loopback', '2002:7f00:1::', allowed],
    ['ISATAP of metadata', '2606:4700::5efe:169.254.169.254', never],
    ['ISATAP of private', '2606:4700::200:5efe:10.0.0.1', allowed],
    ['Teredo', '2001:0:4136:e378:8000:63bf:3fff:fdd2', never],
    ['no address', 'not an address', never],
    ['no address', '', never],
  ])('%s: %s', (_what, address, expected) => {
    expect([isAddressAllowed(address, false), isAddressAllowed(address, true)]).toEqual(expected);
  });

  test.each([
    ['decimal', 'http://2130706433/', '127.0.0.1'],
    ['octal', 'http://0177.0.0.1/', '127.0.0.1'],
    ['hexadecimal', 'http://0x7f.0x0.0x0.0x1/', '127.0.0.1'],
    ['hexadecimal, in one', 'http://0xa9fea9fe/', '169.254.169.254'],
    ['short', 'http://127.1/', '127.0.0.1'],
    ['mixed', 'http://0xa9.254.43518/', '169.254.169.254'],
    ['with a dot at its end', 'http://169.254.169.254./', '169.254.169.254'],
    ['in full-width digits', 'http://１２７.０.０.１/', '127.0.0.1'],
    ['in encircled digits', 'http://①②⑦.⓪.⓪.①/', '127.0.0.1'],
    ['escaped', 'http://%31%32%37.0.0.1/', '127.0.0.1'],
    ['mapped', 'http://[::ffff:127.0.0.1]/', '[::ffff:7f00:1]'],
  ])('a host written %s: %s', (_form, url, hostname) => {
    expect(new URL(url).hostname).toBe(hostname);
    expect(() => assertHostAllowed(new URL(url).hostname, false)).toThrow(AddressRefusedError);
  });

  test.each([
    'metadata',
    'metadata.google',
    'metadata.google.internal',
    'METADATA.google.internal.',
    'metadata.goog',
    'instance-data',
    'instance-data.ec2.internal',
  ])('the name of machine metadata is refused always: %s', (name) =>
    expect(() => assertHostAllowed(name, true)).toThrow(AddressRefusedError),
  );

  test('an address in the URL is judged without a lookup', () => {
    expect(() => assertHostAllowed('[::1]', false)).toThrow(AddressRefusedError);
    expect(() => assertHostAllowed(new URL('http://2130706433/').hostname, false)).toThrow(AddressRefusedError);
    expect(() => assertHostAllowed(new URL('http://0xa9fea9fe/').hostname, true)).toThrow(AddressRefusedError);
    expect(() => assertHostAllowed('127.0.0.1', true)).not.toThrow();
    const cure = '127.0.0.1 is a private address, and allowPrivateNetwork is not set';
    expect(() => assertHostAllowed('127.0.0.1', false)).toThrow(new AddressRefusedError(cure));
    expect(() => assertHostAllowed('169.254.0.1', false)).toThrow(new AddressRefusedError('169.254.0.1 is never called'));
    expect(() => assertHostAllowed('metadata.goog', true)).toThrow(new AddressRefusedError('metadata.goog is never called'));
    expect(() => assertHostAllowed('localhost', false)).not.toThrow();
  });
});

describe('the lookup', () => {
  const resolveTo =
    (...answers: LookupAddress[][]) =>
    (_name: string, done: (error: Error | null, addresses: LookupAddress[]) => void) =>
      done(null, answers.length > 1 ? (answers.shift() ?? []) : (answers[0] ?? []));
  const ask = (lookup: ReturnType<typeof guardedLookup>, options: { all?: boolean; family?: number }) =>
    new Promise((resolve, reject) => {
      lookup('model.example', options, (error, address) => (error ? reject(error) : resolve(address)));
    });

  test('returns only allowed addresses', async () => {
    const lookup = guardedLookup(
      false,
      resolveTo([
        { address: '10.0.0.1', family: 4 },
        { address: '8.8.8.8', family: 4 },
        { address: '::ffff:10.0.0.1', family: 6 },
      ]),
    );
    expect(await ask(lookup, { all: true })).toEqual([{ address: '8.8.8.8', family: 4 }]);
    expect(await ask(lookup, {})).toBe('8.8.8.8');
  });

  test.each([
    ['127.0.0.1', false, 'model.example is 127.0.0.1, which is a private address, and allowPrivateNetwork is not set'],
    ['169.254.169.254', true, 'model.example is 169.254.169.254, which is never called'],
  ])(
    'refuses a name that resolves only to %s, and says whether the catalog could allow it',
    async (address, allowPrivateNetwork, message) => {
      const lookup = guardedLookup(allowPrivateNetwork, resolveTo([{ address, family: 4 }]));
      await expect(ask(lookup, { all: true })).rejects.toEqual(new AddressRefusedError(message));
    },
  );

  test('concurrent connections share one query', async () => {
    const answers: Parameters<Resolver>[1][] = [];
    const lookup = guardedLookup(false, (_name, done) => void answers.push(done));
    const burst = async (): Promise<unknown[]> => {
      const asked = Array.from({ length: 50 }, () => ask(lookup, {}));
      const [answer] = answers.splice(0);
      answer?.(
        ...((isDead ? [new Error('no name server'), []] : [null, [{ address: '8.8.8.8', family: 4 }]]) as Parameters<typeof answer>),
      );
      return (await Promise.allSettled(asked)).map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message));
    };
    let isDead = true;
    expect(await burst()).toEqual(Array(50).fill('no name server'));
    isDead = false;
    expect(await burst()).toEqual(Array(50).fill('8.8.8.8'));
    expect(answers).toEqual([]);
  });

  test('DNS rebinding: a cached answer is reused, and a later answer is judged again [fault-rebinding]', async () => {
    const lookup = guardedLookup(false, resolveTo([{ address: '8.8.8.8', family: 4 }], [{ address: '127.0.0.1', family: 4 }]));
    expect([await ask(lookup, {}), await ask(lookup, {})]).toEqual(['8.8.8.8', '8.8.8.8']);
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 31_000);
    try {
      await expect(ask(lookup, {})).rejects.toThrow(AddressRefusedError);
    } finally {
      clock.mockRestore();
    }
  });
});
