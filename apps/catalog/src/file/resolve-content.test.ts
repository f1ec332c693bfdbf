import { leastMs } from '#testing/least-ms.js';
import { CatalogFileError } from './catalog-file-error.js';
import { parseCatalogFile } from './parse-catalog-file.js';
import { readYaml } from './read-yaml.js';

/** Returns the first line of the refusal by the part that reads YAML, before anything of the content is copied. */
function catchRefusal(text: string): string {
  try {
    readYaml(text, 'c.yaml');
  } catch (error) {
    if (error instanceof CatalogFileError) return error.message;
    throw error;
  }
  return 'read';
}

const VALUES = 'is too large: more than 100000 values, with every alias written out';
const LEXEMES = 'is too large: more than 250000 words and marks of YAML';
const fields = Array.from({ length: 500 }, (_, number) => `f${number}: ${number}`).join(', ');
/** 16 KB that stand for 1,500,000 values. */
const FIELDS_BOMB = `a: &a {${fields}}\n${'abcdef'
  .split('')
  .map((name) => `${name}s: [${Array(500).fill('*a').join(', ')}]\n`)
  .join('')}`;
/** 300 KB that stand for 290 MB. */
const TEXT_BOMB = `a: &a "${'x'.repeat(290_000)}"\nmodels: [${Array(1_000).fill('*a').join(', ')}]\n`;
const levels = Array.from({ length: 12 }, (_, level) => `l${level + 1}: &l${level + 1} [${`*l${level}, `.repeat(9)}*l${level}]`);

describe('a text whose aliases stand for more than a catalog has is refused with its line', () => {
  test.each([
    ['500 fields, 3,000 uses', FIELDS_BOMB, `c.yaml:2: ${VALUES}`],
    [
      'a text of 290,000 characters, 1,000 uses',
      TEXT_BOMB,
      'c.yaml:2: is too large: more than 4000000 characters, with every alias written out',
    ],
    ['levels of aliases, each ten times the one before', `l0: &l0 x\n${levels.join('\n')}\n`, `c.yaml:6: ${VALUES}`],
    [
      'an anchor that is a long field name',
      `? &a ${'x'.repeat(1_000)}\n: y\nmodels:\n${`  - [${Array(999).fill('*a').join(', ')}]\n`.repeat(5)}`,
      'c.yaml:8: is too large: more than 4000000 characters, with every alias written out',
    ],
    ['one level more at each alias', nested(40), 'c.yaml:17: is nested too deeply'],
    [
      'a list of more entries than a catalog has models',
      `models: [${'a,'.repeat(1_001)}]\n`,
      'c.yaml:1: has more than 1000 entries in one list or group of fields',
    ],
  ])('%s [sec-catalog-size]', (_, text, message) => {
    expect(catchRefusal(text)).toBe(message);
  });
});

test.each([
  ['scalars', `models: [${'a,'.repeat(490_000)}]\n`, 1],
  ['fields', `models:\n${'  a:\n'.repeat(150_000)}`, 50_001],
  ['anchors', `models: [${'&b x,'.repeat(190_000)}]\n`, 1],
  ['tags', `models: [${'!x a,'.repeat(180_000)}]\n`, 1],
  ['lists in lists', '['.repeat(500_000), 1],
])('a text of too many %s is refused before it is parsed [sec-catalog-size]', (_, text, line) => {
  expect(catchRefusal(text)).toBe(`c.yaml:${line}: ${LEXEMES}`);
});

test('the uses of an anchor are one object, and an anchor may be named again', () => {
  const { plain } = readYaml('a: &a { x: 1 }\nb: *a\nc: &a [2]\nd: *a\n', 'c.yaml') as { plain: Record<string, unknown> };
  expect(plain).toEqual({ a: { x: 1 }, b: { x: 1 }, c: [2], d: [2] });
  expect([plain.a === plain.b, plain.c === plain.d]).toEqual([true, true]);
});

test('a field is one of the object, whatever its name', () => {
  const { plain } = readYaml('__proto__: { x: 1 }\n1: one\n~: none\n', 'c.yaml');
  expect(Object.entries(plain)).toEqual([
    ['1', 'one'],
    ['__proto__', { x: 1 }],
    ['', 'none'],
  ]);
});

test('a hostile text takes no longer than a few catalogs of a thousand models [sec-catalog-size]', async () => {
  const measureTime = (text: string): Promise<number> =>
    leastMs(0, async () => {
      const startedAt = performance.now();
      refuse(text);
      return performance.now() - startedAt;
    });
  const usual = await measureTime(`upstreams: [{ id: u, kind: openai-chat, baseUrl: "http://127.0.0.1/v1" }]\nmodels:\n${models(1_000)}`);
  const unknown = `upstreams: [&a {${fields}}${', *a'.repeat(190)}]\nmodels: []\n`;
  const slow: number[] = [];
  for (const text of [FIELDS_BOMB, TEXT_BOMB, unknown]) if ((await measureTime(text)) > 5 * usual) slow.push(text.length);
  expect(slow).toEqual([]);
});

function refuse(text: string): unknown {
  try {
    return parseCatalogFile(text, 'c.yaml', () => undefined);
  } catch (error) {
    return error;
  }
}

function models(count: number): string {
  const price = '{ inputUsdPerMTok: "1", cachedInputUsdPerMTok: "1", outputUsdPerMTok: "1" }';
  const model = (id: number): string =>
    `  - { id: m${id}, ownedBy: us, contextTokens: 9, maxOutputTokens: 9, price: ${price}, routes: [{ upstream: u, model: x }] }\n`;
  return Array.from({ length: count }, (_, id) => model(id)).join('');
}

/** Each anchor is a list around the one before. */
function nested(levels: number): string {
  return Array.from({ length: levels }, (_, level) => `l${level}: &l${level} [${level === 0 ? '' : `[*l${level - 1}]`}]`).join('\n');
}
