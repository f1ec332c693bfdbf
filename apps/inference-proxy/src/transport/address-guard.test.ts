import type { LookupAddress } from 'node:dns';
import { AddressRefusedError, assertHostAllowed, guardedLookup, isAddressAllowed } from './address-guard.js';

describe('which addresses may be called (billing.md 7, SSRF)', () => {
  test.each([
    // address, by default, with allowPrivateNetwork
    ['93.184.216.34', true, true],
    ['2606:4700::1111', true, true],
    ['127.0.0.1', false, true],
    ['::1', false, true],
    ['10.1.2.3', false, true],
    ['172.31.255.255', false, true],
    ['192.168.0.1', false, true],
    ['100.64.0.1', false, true],
    ['fd12:3456::1', false, true],
    ['169.254.169.254', false, false],
    ['169.254.0.1', false, false],
    ['fe80::1', false, false],
    ['fe80::1%eth0', false, false],
    ['fd00:ec2::254', false, false],
    ['100.100.100.200', false, false],
    ['168.63.129.16', false, false],
    ['0.0.0.0', false, false],
    ['::', false, false],
    ['224.0.0.1', false, false],
    ['ff02::1', false, false],
    ['::ffff:169.254.169.254', false, false],
    ['::FFFF:A9FE:A9FE', false, false],
    ['::ffff:127.0.0.1', false, true],
    ['::ffff:8.8.8.8', true, true],
    ['::127.0.0.1', false, true],
    ['64:ff9b::169.254.169.254', false, false],
    ['64:ff9b::8.8.8.8', true, true],
    ['2002:a9fe:a9fe::1', false, false],
    ['2002:7f00:1::', false, true],
    ['not an address', false, false],
  ])('%s: %s, inside a private network %s', (address, byDefault, allowed) => {
    expect([isAddressAllowed(address, false), isAddressAllowed(address, true)]).toEqual([byDefault, allowed]);
  });

  test('an address in the URL is judged without a look-up', () => {
    expect(() => assertHostAllowed('[::1]', false)).toThrow(AddressRefusedError);
    expect(() => assertHostAllowed(new URL('http://2130706433/').hostname, false)).toThrow(AddressRefusedError);
    expect(() => assertHostAllowed(new URL('http://0xa9fea9fe/').hostname, true)).toThrow(AddressRefusedError);
    expect(() => assertHostAllowed('127.0.0.1', true)).not.toThrow();
    expect(() => assertHostAllowed('localhost', false)).not.toThrow();
  });
});

describe('the look-up', () => {
  const resolveTo =
    (...answers: LookupAddress[][]) =>
    (_name: string, done: (error: Error | null, addresses: LookupAddress[]) => void) =>
      done(null, answers.length > 1 ? (answers.shift() ?? []) : (answers[0] ?? []));
  const ask = (lookup: ReturnType<typeof guardedLookup>, options: { all?: boolean; family?: number }) =>
    new Promise((resolve, reject) => {
      lookup('model.example', options, (error, address) => (error ? reject(error) : resolve(address)));
    });

  test('gives only addresses that may be called', async () => {
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

  test('refuses a name that leads inside only', async () => {
    const lookup = guardedLookup(false, resolveTo([{ address: '127.0.0.1', family: 4 }]));
    await expect(ask(lookup, { all: true })).rejects.toThrow(AddressRefusedError);
  });

  test('a name server that changes its mind is not asked again, so it cannot rebind', async () => {
    const lookup = guardedLookup(false, resolveTo([{ address: '8.8.8.8', family: 4 }], [{ address: '127.0.0.1', family: 4 }]));
    expect([await ask(lookup, {}), await ask(lookup, {})]).toEqual(['8.8.8.8', '8.8.8.8']);
  });
});
