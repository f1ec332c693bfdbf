import { findDirectives } from './directives.js';

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

test.each(['bogus', 'tokens', 'tokens=x', 'tokens=-1', 'nousage=1', 'say', 'say="\\x"'])('refuses %s', (words) => {
  expect(() => findDirectives(`[[sim ${words}]]`)).toThrow(/directive/i);
});
