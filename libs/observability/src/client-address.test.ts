import { BlockList, isIPv6 } from 'node:net';
import fc from 'fast-check';
import { clientAddress, plainAddress, UNKNOWN_ADDRESS } from './client-address.js';

const PROXY = '10.0.0.1';

test.each([
  ['no proxy is trusted: the socket', '1.2.3.4', 0, PROXY],
  ['no proxy is trusted and there is no header: the socket', undefined, 0, PROXY],
  ['one proxy: the last entry', '6.6.6.6, 1.2.3.4', 1, '1.2.3.4'],
  ['two proxies: the last but one', '6.6.6.6, 1.2.3.4,10.0.0.2', 2, '1.2.3.4'],
  ['an IPv6 address', '2001:db8::1', 1, '2001:db8::1'],
  ['an IPv6 address in another form', '2001:0DB8:0:0::1', 1, '2001:db8::1'],
  ['an IPv4-mapped address', '::ffff:1.2.3.4', 1, '1.2.3.4'],
  ['an IPv4-mapped address in hexadecimal digits', '::FFFF:102:304', 1, '1.2.3.4'],
  ['an address with a zone', 'fe80::1%eth0', 1, 'fe80::1'],
  ['a long address with a zone', '0000:0000:0000:0000:0000:0000:100.100.100.100%eth0', 1, '::100.100.100.100'],
  ['an IPv4 address with a port', '1.2.3.4:4711', 1, '1.2.3.4'],
  ['an IPv6 address with a port', '[2001:db8::1]:4711', 1, '2001:db8::1'],
  ['an IPv4-mapped address with a port', '[::ffff:1.2.3.4]:4711', 1, '1.2.3.4'],
  ['an address with a zone and a port', '[fe80::1%eth0]:4711', 1, 'fe80::1'],
])('the client address behind proxies: %s [limit-unkeyed-rate]', (_name, forwarded, hops, expected) => {
  expect(clientAddress(PROXY, forwarded, hops)).toBe(expected);
});

test.each([
  ['no header', undefined],
  ['an empty header', ''],
  ['fewer entries than proxies', '1.2.3.4', 2],
  ['an empty entry', '1.2.3.4, '],
  ['a word', 'unknown'],
  ['an obfuscated name', '_hidden'],
  ['a host', 'client.example.com'],
  ['a port without an address', ':4711'],
  ['a port that does not exist', '1.2.3.4:65536'],
  ['an empty port', '1.2.3.4:'],
  ['IPv4 in brackets', '[1.2.3.4]:4711'],
  ['text after the port', '1.2.3.4:4711 x'],
  ['numbers that are no address', '1.2.3.256'],
  ['a short form of IPv4', '127.1:80'],
  ['octal IPv4', '010.0.0.1'],
  ['a network', '10.0.0.0/8'],
  ['a quoted address', '"1.2.3.4"'],
  ['two addresses without a comma', '1.2.3.4 10.0.0.1'],
])(
  'an address that cannot be read is unknown, and never the address of the proxy: %s [sec-forwarded-address]',
  (_name, forwarded, hops = 1) => {
    expect(clientAddress(PROXY, forwarded, hops)).toBe(UNKNOWN_ADDRESS);
  },
);

const port = fc.integer({ min: 0, max: 65_535 });
const ipv6 = fc.tuple(fc.ipV6(), fc.boolean(), fc.constantFrom('', '%eth0', '%1')).map(([text, isUpper, zone]) => ({
  ip: text,
  text: (isUpper ? text.toUpperCase() : text) + zone,
}));
/** An address, and a way in which a proxy writes it. */
const written = fc.oneof(
  fc.ipV4().map((ip) => ({ ip, text: ip })),
  fc.tuple(fc.ipV4(), port).map(([ip, number]) => ({ ip, text: `${ip}:${number}` })),
  fc.ipV4().map((ip) => ({ ip, text: `::ffff:${ip}` })),
  fc.tuple(fc.ipV4(), port).map(([ip, number]) => ({ ip, text: `[::ffff:${ip}]:${number}` })),
  ipv6,
  fc.tuple(ipv6, port).map(([{ ip, text }, number]) => ({ ip, text: `[${text}]:${number}` })),
);
/** Entries as clients forge them. They may look like those of proxies. */
const forged = fc.array(
  fc.oneof(
    written.map(({ text }) => text),
    fc.string().map((text) => text.replaceAll(',', ';')),
  ),
  { maxLength: 4 },
);
const proxies = fc.array(
  written.map(({ text }) => text),
  { maxLength: 3 },
);
const comma = fc.constantFrom(',', ', ', ' ,\t');

test('the entry that the outermost trusted proxy wrote is read in every form, whatever the client sends', () => {
  fc.assert(
    fc.property(written, forged, proxies, comma, ({ ip, text }, before, after, separator) => {
      const read = clientAddress(PROXY, [...before, text, ...after].join(separator), after.length + 1);
      const same = new BlockList();
      same.addAddress(ip, isIPv6(ip) ? 'ipv6' : 'ipv4');
      expect([same.check(read, isIPv6(read) ? 'ipv6' : 'ipv4'), plainAddress(read)]).toEqual([true, read]);
    }),
  );
});

test('any other text in its place gives an unknown address, and so do fewer entries than proxies [sec-forwarded-address]', () => {
  const noAddress = fc.string({ unit: 'binary' }).filter((text) => !text.includes(',') && !/^[\s[]*[\da-f:]*[.:]/i.test(text));
  fc.assert(
    fc.property(forged, noAddress, proxies, (before, text, after) => {
      expect(clientAddress(PROXY, [...before, text, ...after].join(','), after.length + 1)).toBe(UNKNOWN_ADDRESS);
      expect(clientAddress(PROXY, [text, ...after].join(','), after.length + 2)).toBe(UNKNOWN_ADDRESS);
    }),
  );
});
