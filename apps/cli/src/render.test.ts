import { renderDollars, renderFields, renderMoney, renderPerMillion, renderTable } from './render.js';

test('renders aligned columns, numbers right-aligned, absent values as a dash', () => {
  const rows = [
    { id: 'a', count: 5, at: null },
    { id: 'long-id', count: 12_000, at: 'now' },
  ];
  expect(renderTable(rows, 'none', { ID: (row) => row.id, COUNT: (row) => row.count, AT: (row) => row.at })).toBe(
    ['ID       COUNT  AT', 'a            5  -', 'long-id  12000  now'].join('\n'),
  );
});

test('renders a text for an empty list', () => {
  expect(renderTable([], 'no accounts', { ID: () => 'x' })).toBe('no accounts');
});

test('renders one field a line', () => {
  expect(renderFields({ a: 'x', long: true, none: null })).toBe('a     x\nlong  yes\nnone  -');
});

test('replaces control characters', () => {
  expect(renderFields({ name: 'a\u001b[2J\nb' })).toBe('name  a\u{fffd}[2J\u{fffd}b');
});

test.each([
  ['0', '$0.00 (0 pico)'],
  ['12500000000000', '$12.50 (12500000000000 pico)'],
  ['1', '$0.000000000001 (1 pico)'],
  ['99999999999999999999999999', '$99999999999999.999999999999 (99999999999999999999999999 pico)'],
])('%s pico-USD is shown exactly', (amount, shown) => {
  expect(renderMoney(amount)).toBe(shown);
});

test('an amount below zero keeps its sign before the dollar', () => {
  expect(renderDollars('-12500000000000')).toBe('-$12.50');
});

test('a price a token is shown as the list price', () => {
  expect(renderPerMillion('150000')).toBe('$0.15');
  expect(renderPerMillion('1')).toBe('$0.000001');
});
