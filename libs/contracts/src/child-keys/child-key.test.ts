import { randomBytes, randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { testCases } from '#testing/long-run.js';
import { isBelowChild, listChain } from '../rules/child-path.js';
import { type ChildLevel, isSignedBy, parseChildKey, parseSigned, proveSignature, provesSignature, readEnd } from './child-key.js';
import { type ChildParent, collectTags, mintChild, type WantedChild, WiderChildError } from './narrow-child.js';

const NOW = Date.parse('2027-01-15T08:00:00Z');
const SIGNING_KEY = randomBytes(32);
const PARENT: ChildParent = { keyId: randomUUID(), signingKey: SIGNING_KEY, levels: [], limit: 5_000n, endsAt: Number.POSITIVE_INFINITY };

const patterns = fc.constantFrom('*', 'sim-*', 'sim-fast', 'sim-f*', '*-fast', 'gpt-*', 'gpt-5');
const networks = fc.constantFrom('10.0.0.0/8', '10.1.0.0/16', '10.1.2.3', '192.168.0.0/16', '2001:db8::/32', '2001:db8::1');
const wanted: fc.Arbitrary<WantedChild> = fc.record(
  {
    limitPicoUsd: fc.bigInt(0n, 8_000n).map(String),
    seconds: fc.integer({ min: 1, max: 10_000 }),
    models: fc.array(patterns, { maxLength: 3 }),
    networks: fc.array(networks, { maxLength: 3 }),
    tags: fc.dictionary(fc.constantFrom('team', 'env', 'job'), fc.constantFrom('a', 'b'), { noNullPrototype: true }),
  },
  { requiredKeys: ['seconds'] },
);

/** Mints a chain, leaving out what would be wider. */
function mintChain(wishes: readonly WantedChild[], parent: ChildParent = PARENT): { key: string; levels: readonly ChildLevel[] }[] {
  const minted: { key: string; levels: readonly ChildLevel[] }[] = [];
  for (const wish of wishes) {
    try {
      minted.push(mintChild({ ...parent, levels: minted.at(-1)?.levels ?? [] }, wish, NOW));
    } catch (error) {
      if (!(error instanceof WiderChildError)) throw error;
    }
  }
  return minted;
}

testCases(
  'for random wishes no child key of a chain is wider than the one that made it',
  { usual: 300, long: 30_000 },
  fc.array(wanted, { maxLength: 8 }),
  (wishes) => {
    const chain = mintChain(wishes);
    expect(chain.length).toBeLessThanOrEqual(3);
    for (const [depth, { levels }] of chain.entries()) {
      const [above, own] = [levels.slice(0, -1), levels.at(-1) as ChildLevel];
      expect(above).toEqual(chain[depth - 1]?.levels ?? []);
      expect(readEnd(levels)).toBeLessThanOrEqual(above.length > 0 ? readEnd(above) : Number.POSITIVE_INFINITY);
      expect(BigInt(own.limitPicoUsd)).toBeLessThanOrEqual(BigInt(above.at(-1)?.limitPicoUsd ?? PARENT.limit));
      expect(Object.fromEntries([...collectTags(levels), ...collectTags(above)])).toEqual(Object.fromEntries(collectTags(levels)));
      expect(listChain(own.path)).toEqual(levels.map(({ path }) => path));
      expect(above.every(({ path }) => isBelowChild(own.path, path) && !isBelowChild(path, own.path))).toBe(true);
    }
  },
);

testCases(
  'a child key is read as it was made, and with one changed character by none',
  { usual: 500, long: 50_000 },
  fc.tuple(fc.array(wanted, { minLength: 1, maxLength: 4 }), fc.nat(), fc.constantFrom(...'AZaz09-_.=')),
  ([wishes, at, other]) => {
    const { key, levels } = mintChain([{ seconds: 60 }, ...wishes]).at(-1) as { key: string; levels: ChildLevel[] };
    const sent = parseChildKey(key);
    expect(sent).toMatchObject({ keyId: PARENT.keyId, levels });
    expect(sent && isSignedBy(sent, SIGNING_KEY)).toBe(true);
    expect(sent && isSignedBy(sent, randomBytes(32))).toBe(false);
    expect(sent && provesSignature(proveSignature(sent.signature), sent.signed, SIGNING_KEY)).toBe(true);
    const position = at % key.length;
    if (key[position] === other) return;
    const changed = parseChildKey(key.slice(0, position) + other + key.slice(position + 1));
    expect(changed !== undefined && isSignedBy(changed, SIGNING_KEY)).toBe(false);
  },
);

test.each<[string, string, Partial<ChildParent>, Partial<WantedChild>]>([
  ['models', 'models must be within those of the parent: gpt-* is not', { models: ['sim-*'] }, { models: ['sim-fast', 'gpt-*'] }],
  ['a wider pattern', 'models must be within those of the parent: sim-* is not', { models: ['sim-f*'] }, { models: ['sim-*'] }],
  [
    'networks',
    'networks must be within those of the parent: 10.0.0.0/7 is not',
    { networks: ['10.0.0.0/8'] },
    { networks: ['10.0.0.0/7'] },
  ],
  [
    'another family',
    'networks must be within those of the parent: ::a00:1 is not',
    { networks: ['10.0.0.0/8'] },
    { networks: ['::a00:1'] },
  ],
  ['the budget', 'limitPicoUsd must be at most $0.000000005: a child key may cost no more than its parent', {}, { limitPicoUsd: '5001' }],
  ['the end', 'seconds must be at most 59: a child key ends before its parent', { endsAt: NOW + 59_999 }, { seconds: 60 }],
])('%s may not be wider', (_, message, parent, wish) => {
  expect(() => mintChild({ ...PARENT, ...parent }, { seconds: 10, ...wish }, NOW)).toThrow(message);
});

test('tags of the parent stay', () => {
  const { levels } = mintChild(PARENT, { seconds: 60, tags: { team: 'a' } }, NOW);
  expect(() => mintChild({ ...PARENT, levels }, { seconds: 1, tags: { team: 'b' } }, NOW)).toThrow(
    'tags must keep those of the parent: team differs',
  );
});

test('a fourth child key of a chain, and one that is too long, are refused', () => {
  const { levels } = mintChain([{ seconds: 60 }, { seconds: 60 }, { seconds: 60 }]).at(-1) as { levels: readonly ChildLevel[] };
  expect(() => mintChild({ ...PARENT, levels }, { seconds: 1 }, NOW)).toThrow('depth of child keys is at most 3 below a key');
  const models = Array.from({ length: 64 }, (_, number) => `${'x'.repeat(60)}-${number}`);
  expect(() => mintChild(PARENT, { seconds: 60, models }, NOW)).toThrow('at most 4000');
});

test.each([
  '',
  'tg_child_',
  `tg_child_${'A'.repeat(43)}`,
  ...['null', '[]', '{}', '{"k":1,"c":[]}', '{"k":"x","c":[]}', '{"k":"x","c":[{"i":"1-2","b":"1"}]}', '{"k":"x","c":"y"}'].map(
    (json) => `tg_child_${Buffer.from(json).toString('base64url')}${'A'.repeat(43)}`,
  ),
])('%j is no child key', (text) => {
  expect(parseChildKey(text)).toBeUndefined();
});

test('what is signed can be read without its signature, as billing does', () => {
  const { key, levels } = mintChild(PARENT, { seconds: 60, limitPicoUsd: '7', models: ['sim-*'], tags: { team: 'a' } }, NOW);
  expect(parseSigned(key.slice(0, -43))).toEqual({ keyId: PARENT.keyId, levels });
});
