import { readFileSync } from 'node:fs';
import { findDirectives, KINDS } from './directives.js';
import { ABILITIES } from './limited-abilities.js';

test('parses numbers, flags and quoted texts; later directives override defaults', () => {
  expect(
    findDirectives('Hi [[sim tokens=200 rate=0.5 hang]] there [[sim hang=3 say="a \\"b\\"\\n]" nousage]]', { ttft: 5, tokens: 1 }),
  ).toEqual({
    ttft: 5,
    tokens: 200,
    rate: 0.5,
    hang: 3,
    say: 'a "b"\n]',
    nousage: true,
  });
});

test('a text without directives has the defaults', () => {
  expect(findDirectives('[[simple]] [sim tokens=3]', { status: 503 })).toEqual({ status: 503 });
});

test('a directive of words takes several', () => {
  expect(findDirectives('[[sim usage=finish,total arguments=twice]]')).toEqual({ usage: ['finish', 'total'], arguments: ['twice'] });
});

test('the README has each ability that can be refused', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const [, row = ''] = /^\| `refuse=X,Y` \| .*? or (.*)$/m.exec(readme) ?? [];
  expect([...row.matchAll(/`([a-z-]+)` ?(?:\(|,|\|)/g)].map(([, name]) => name).sort()).toEqual(Object.keys(ABILITIES).sort());
});

test('the README has each directive, with each of its words, and no other one', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const rows = readme.slice(readme.indexOf('\n## Directives')).matchAll(/^\| (`.*?) \|/gm);
  const named = [...rows].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z\d-]+)(?:=([^`]*))?`/g)].map(([, name = '', value]) => ({ name, value })),
  );
  expect([...new Set(named.map(({ name }) => name))].sort()).toEqual(Object.keys(KINDS).sort());
  const words = Object.entries(KINDS).flatMap(([name, kind]) => (typeof kind === 'string' ? [] : kind.map((word) => `${name}=${word}`)));
  const takesWords = (name: string): boolean => typeof KINDS[name as keyof typeof KINDS] !== 'string';
  expect(
    named
      .filter(({ name }) => takesWords(name))
      .map(({ name, value }) => `${name}=${value}`)
      .sort(),
  ).toEqual(words.sort());
});

test.each(['usage=often', 'arguments=twice,never', 'tags', 'bogus', 'tokens', 'tokens=x', 'tokens=-1', 'nousage=1', 'say', 'say="\\x"'])(
  'refuses %s',
  (words) => {
    expect(() => findDirectives(`[[sim ${words}]]`)).toThrow(/directive/i);
  },
);
