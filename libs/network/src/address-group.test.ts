import { addressGroup } from './address-group.js';

test.each([
  ['1.2.3.4', '1.2.3.4'],
  ['2001:db8:0:7:aaaa:bbbb:cccc:dddd', '2001:db8:0:7'],
  ['2001:db8:0:7::1', '2001:db8:0:7'],
  ['2001:db8::7:0:0:0:1', '2001:db8:0:7'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['::', '0:0:0:0'],
])('the rate of %s is that of %s', (address, group) => {
  expect(addressGroup(address)).toBe(group);
});
