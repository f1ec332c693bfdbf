import fc from 'fast-check';
import { type CacheTtl, type Prefix, PromptCache } from './prompt-cache.js';

const MINUTE_MS = 60_000;

let now = 0;
let cache: PromptCache;
beforeEach(() => {
  now = 0;
  cache = new PromptCache(() => now);
});

/** Blocks of 1,000 tokens each; a word of `5m` or `1h` marks the block. */
function blocks(words: string): Prefix[] {
  return words.split(' ').map((word, index) => {
    const ttl = /5m|1h/.exec(word)?.[0] as CacheTtl | undefined;
    return { key: `block ${index}`, ...(ttl === undefined ? {} : { marker: { ttl, tokens: 1_000 * (index + 1) } }) };
  });
}

const use = (words: string, promptTokens = 10_000) => cache.use(blocks(words), promptTokens);

const nothing = { read: 0, written: { '5m': 0, '1h': 0 } };

test('the first request writes up to its last marker, the second reads that', () => {
  expect(use('- - 5m -')).toEqual({ read: 0, written: { '5m': 3_000, '1h': 0 } });
  expect(use('- - 5m -')).toEqual({ read: 3_000, written: { '5m': 0, '1h': 0 } });
});

test('a prefix below the minimum is not written', () => {
  expect(use('5m - -')).toEqual(nothing);
  expect(use('5m - -')).toEqual(nothing);
});

test('writes for an hour come before those for five minutes', () => {
  expect(use('- 1h 5m -')).toEqual({ read: 0, written: { '1h': 2_000, '5m': 1_000 } });
  expect(use('- 1h - 1h 5m -')).toEqual({ read: 3_000, written: { '1h': 1_000, '5m': 1_000 } });
});

test('a marker reads the longest entry that an earlier request wrote before it', () => {
  use('- 5m -');
  use('- - - 5m');
  expect(use('- 5m - - - 5m')).toEqual({ read: 4_000, written: { '5m': 2_000, '1h': 0 } });
});

test.each([
  [18, 2_000],
  [19, 0],
])('a marker looks back 20 positions, its own included: %d blocks between', (between, read) => {
  use('- 5m');
  expect(use(`- - ${'- '.repeat(between)}5m`, 50_000).read).toBe(read);
});

test('a request without markers neither reads nor writes', () => {
  use('- - 5m');
  expect(use('- - -')).toEqual(nothing);
});

test.each<[CacheTtl, number]>([
  ['5m', 5],
  ['1h', 60],
])('an entry of %s lives %d minutes from its last use', (ttl, minutes) => {
  const reads = [0, minutes - 1, minutes - 1, minutes].map((wait) => {
    now += wait * MINUTE_MS;
    return use(`- ${ttl}`).read;
  });
  expect(reads).toEqual([0, 2_000, 2_000, 0]);
});

test('an entry of an hour that a marker of five minutes reads stays one of an hour', () => {
  use('- 1h');
  const reads = [1, 59].map((wait) => {
    now += wait * MINUTE_MS;
    return use('- 5m').read;
  });
  expect(reads).toEqual([2_000, 2_000]);
});

test('holds a limited number of entries and forgets the least recently used', () => {
  cache = new PromptCache(() => now, 2);
  const entry = (key: string) => cache.use([{ key, marker: { ttl: '5m', tokens: 2_000 } }], 2_000).read;
  expect(['a', 'b', 'a', 'c', 'a', 'b'].map(entry)).toEqual([0, 0, 2_000, 0, 2_000, 0]);
});

test('a cleared cache has nothing', () => {
  use('- 5m');
  cache.clear();
  expect(use('- 5m').read).toBe(0);
});

test('read and written tokens never exceed the prompt', () => {
  const word = fc.constantFrom('-', '5m', '1h');
  const request = fc.record({ words: fc.array(word, { minLength: 1, maxLength: 40 }), promptTokens: fc.integer({ min: 1, max: 40_000 }) });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 5 }), (requests) => {
      cache.clear();
      for (const { words, promptTokens } of requests) {
        const { read, written } = use(words.join(' '), promptTokens);
        expect(Math.min(read, written['5m'], written['1h'])).toBeGreaterThanOrEqual(0);
        expect(read + written['5m'] + written['1h']).toBeLessThanOrEqual(promptTokens);
      }
    }),
  );
});
