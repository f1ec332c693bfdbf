import fc from 'fast-check';

/**
 * Arbitrary documents with one to five faults: values of other types or places, fields removed, renamed or added, deep nesting, huge
 * numbers, half characters, names of prototype properties. Many replacements come from the documents themselves, so that faults get
 * past the first check.
 */
export function damagedJson(documents: readonly unknown[]): fc.Arbitrary<unknown> {
  const words = collectWords(documents);
  const edits = fc.array(edit(words), { minLength: 1, maxLength: 5, size: 'small' });
  return fc.tuple(fc.constantFrom(...documents), edits).map(([document, changes]) => changes.reduce(applyEdit, clone(document)));
}

/** Arbitrary bytes of such documents, some damaged further: cut, duplicate fields, missing commas, invalid UTF-8. */
export function damagedJsonBytes(documents: readonly unknown[]): fc.Arbitrary<Buffer> {
  const text = fc
    .oneof({ weight: 1, arbitrary: damagedJson(documents) }, { weight: 3, arbitrary: fc.constantFrom(...documents) })
    .map((document) => Buffer.from(JSON.stringify(document) ?? ''));
  return damagedBytes(text, TOKENS);
}

/** Arbitrary bytes with up to three pieces removed, repeated, or replaced by one of `tokens` or random bytes. */
export function damagedBytes(whole: fc.Arbitrary<Buffer>, tokens: readonly string[]): fc.Arbitrary<Buffer> {
  const cut = fc.record({
    at: fc.noBias(fc.nat()),
    length: fc.oneof(fc.constantFrom(0, 0, 0, 1), fc.nat(40), fc.nat(100_000)),
    replacement: fc.oneof(
      fc.constant('repeat' as const),
      fc.constantFrom(...tokens).map((token) => Buffer.from(token, 'latin1')),
      fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
    ),
  });
  return fc.tuple(whole, fc.array(cut, { maxLength: 3 })).map(([bytes, cuts]) =>
    cuts.reduce((before, { at, length, replacement }) => {
      const from = at % (before.length + 1);
      const removed = before.subarray(from, from + length);
      const added = replacement === 'repeat' ? Buffer.concat([removed, removed]) : replacement;
      return Buffer.concat([before.subarray(0, from), added, before.subarray(from + length)]);
    }, bytes),
  );
}

/** Latin-1, so that `\xff` is one byte. */
const TOKENS = [
  ...['"', '\\', '{', '}', '[', ']', ',', ':', '\0', '\n', '\xff', '\xc3', '\xed\xa0\x80', '\xf0\x9f', '\xef\xbb\xbf', '//', '/**/'],
  ...['null', 'true', 'NaN', 'Infinity', '-', '-0', '1e999', '1E-999', '01', '.5', '1.', `1${'0'.repeat(400)}`, '9007199254740993'],
  ...['"\\ud83d"', '"\\u0000"', '"\\x41"', '"__proto__":{"stream":true},', '"\\u005f_proto__":1,', '"model":null,', '"stream":true,'],
  ...['[['.repeat(40), ']]'.repeat(40), '{"a":'.repeat(70), '['.repeat(20_000), '{"":'.repeat(5_000), '"'.repeat(999), ','.repeat(999)],
];

const AWKWARD: unknown[] = [
  ...[null, true, false, 0, -0, -1, 1.5, 1e300, -1e300, 5e-324, 2 ** 31, 2 ** 53, 2 ** 53 + 2, 4096],
  ...['', ' ', '0', 'null', 'none', '[]', '{}', '\u0000', '\ud83d', '\ude42', '🙂', '\u2028', 'a'.repeat(65), 'x'.repeat(10_000), '\n\n'],
  ...['constructor', '__proto__', 'toString', 'hasOwnProperty', 'data:image/png;base64,', 'data:image/png;base64,iVBORw0KGgo=', 'data:,'],
  ...['https://example.com/a.png', 'data:image/png;base64,A', 'call_1', '{"a":', '{"a":1}', '\r\ndata: [DONE]\r\n\r\n'],
  ...[[], {}, [[]], [null], [{}], [0], [''], { type: null }, { type: [] }, { type: 'text' }, { length: 1 }, { toString: 1, valueOf: 1 }],
];
const KEYS = ['__proto__', 'constructor', 'prototype', 'toString', 'toJSON', 'then', 'valueOf', 'hasOwnProperty', 'length', '', '0', '-1'];

interface Edit {
  kind: 'replace' | 'remove' | 'rename' | 'add' | 'graft' | 'nest' | 'quote' | 'repeat';
  /** Index among all values of the document. */
  at: number;
  from: number;
  value: unknown;
  key: string;
  times: number;
}

function edit(words: { values: string[]; keys: string[] }): fc.Arbitrary<Edit> {
  return fc.record({
    kind: fc.constantFrom<Edit['kind'][]>(
      'replace',
      'replace',
      'replace',
      'remove',
      'rename',
      'add',
      'graft',
      'graft',
      'nest',
      'quote',
      'repeat',
    ),
    // Unbiased: small indices are the outermost values, and faults there hide the inner ones.
    at: fc.noBias(fc.nat()),
    from: fc.noBias(fc.nat()),
    value: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...AWKWARD) },
      { weight: 4, arbitrary: fc.constantFrom(...words.values) },
      { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 80 }) },
    ),
    key: fc.oneof({ weight: 1, arbitrary: fc.constantFrom(...KEYS) }, { weight: 3, arbitrary: fc.constantFrom(...words.keys) }),
    times: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 5 }) }, { weight: 1, arbitrary: fc.integer({ min: 6, max: 140 }) }),
  });
}

interface Place {
  holder: object;
  key: string;
  value: unknown;
}

function applyEdit(document: unknown, { kind, at, from, value, key, times }: Edit): unknown {
  const root = { document };
  const places = placesIn(root);
  const place = places[at % places.length] as Place;
  switch (kind) {
    case 'replace':
      put(place.holder, place.key, clone(value));
      break;
    case 'remove':
      remove(place);
      break;
    case 'rename':
      remove(place);
      put(place.holder, key, place.value);
      break;
    case 'add':
      put(objectAt(place), key, clone(value));
      break;
    case 'graft':
      put(place.holder, place.key, clone(places[from % places.length]?.value));
      break;
    case 'nest':
      put(place.holder, place.key, nested(place.value, times, key));
      break;
    case 'quote':
      put(place.holder, place.key, JSON.stringify(place.value));
      break;
    case 'repeat':
      put(place.holder, place.key, repeated(place.value, times));
      break;
  }
  return root.document;
}

function placesIn(holder: object): Place[] {
  return Object.entries(holder).flatMap(([key, value]) => [
    { holder, key, value },
    ...(typeof value === 'object' && value !== null ? placesIn(value) : []),
  ]);
}

/** Like `JSON.parse`, treats `__proto__` as an ordinary field. */
function put(holder: object, key: string, value: unknown): void {
  if (Array.isArray(holder) && !/^\d+$/.test(key)) holder.push(value);
  else Object.defineProperty(holder, key, { value, configurable: true, enumerable: true, writable: true });
}

function remove({ holder, key }: Place): void {
  if (Array.isArray(holder)) holder.splice(Number(key), 1);
  else Reflect.deleteProperty(holder, key);
}

function objectAt({ holder, value }: Place): object {
  return typeof value === 'object' && value !== null ? value : holder;
}

function nested(value: unknown, levels: number, key: string): unknown {
  let outer = value;
  for (let level = 0; level < levels; level++) outer = level % 2 === 0 ? [outer] : Object.fromEntries([[key, outer]]);
  return outer;
}

function repeated(value: unknown, times: number): unknown {
  if (Array.isArray(value)) return Array.from({ length: times }, () => value).flat();
  return typeof value === 'string' ? value.repeat(times) : Array.from({ length: times }, () => value);
}

function clone<Value>(value: Value): Value {
  return value === undefined ? value : JSON.parse(JSON.stringify(value));
}

const WORD_LENGTH_MAX = 40;

function collectWords(documents: readonly unknown[]): { values: string[]; keys: string[] } {
  const places = documents.flatMap((document) => placesIn({ document }));
  const values = places.map(({ value }) => value).filter((value) => typeof value === 'string' && value.length <= WORD_LENGTH_MAX);
  const keys = places.map(({ key }) => key).filter((key) => !/^\d+$/.test(key));
  return { values: [...new Set(values as string[])], keys: [...new Set(keys)] };
}
