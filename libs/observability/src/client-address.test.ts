import { clientAddress } from './client-address.js';

test.each([
  ['no proxy is trusted: the socket', '10.0.0.1', '1.2.3.4', 0, '10.0.0.1'],
  ['one proxy: the last entry', '10.0.0.1', '6.6.6.6, 1.2.3.4', 1, '1.2.3.4'],
  ['two proxies: the last but one', '10.0.0.1', '6.6.6.6, 1.2.3.4,10.0.0.2', 2, '1.2.3.4'],
  ['fewer entries than proxies', '10.0.0.1', '1.2.3.4', 2, '10.0.0.1'],
  ['no header', '10.0.0.1', undefined, 1, '10.0.0.1'],
  ['an entry that is no address', '10.0.0.1', 'unknown', 1, '10.0.0.1'],
  ['an IPv6 address', '10.0.0.1', '2001:db8::1', 1, '2001:db8::1'],
])('the client address behind proxies: %s [limit-unkeyed-rate]', (_name, socket, forwarded, hops, expected) => {
  expect(clientAddress(socket, forwarded, hops)).toBe(expected);
});
