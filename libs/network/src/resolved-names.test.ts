import { jest } from '@jest/globals';
import { ResolvedNames } from './resolved-names.js';

test('beyond 1,000 names those that have ended are dropped, and the others stay', () => {
  let now = 0;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
  try {
    const names = new ResolvedNames(30_000);
    const addresses = [{ address: '8.8.8.8', family: 4 }];
    const add = (from: number, to: number): void => {
      for (let n = from; n < to; n++) names.set(`${n}.example`, addresses);
    };
    add(0, 600);
    now = 20_000;
    add(600, 1_000);
    now = 30_000;
    expect([names.size, names.get('0.example'), names.get('999.example')]).toEqual([1_000, undefined, addresses]);
    add(1_000, 1_001);
    expect([names.size, names.get('600.example'), names.get('1000.example')]).toEqual([401, addresses, addresses]);
  } finally {
    clock.mockRestore();
  }
});
