import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = 'apps/billing/src';

test("billing's folders import only folders below them in its README", () => {
  const order = roomsOf(readFileSync('apps/billing/README.md', 'utf8'));
  const files = globSync('*/**/*.ts', { cwd: SOURCES, exclude: (name) => name.includes('.test.') });
  const sources = new Map(files.map((file) => [file, readFileSync(join(SOURCES, file), 'utf8')]));
  expect([...new Set(files.map(roomOf))].sort()).toEqual([...order.keys()].sort());
  expect(sources.size).toBeGreaterThan(100);
  expect(arrowsUp(order, sources)).toEqual([]);
});

test('can fail', () => {
  const order = roomsOf('| `keys/` | a |\n| `audit/`, `paging/` | b |\n| `sql/` | c |');
  const sources = new Map([
    ['keys/a.ts', "import { b } from '../sql/b.js';\nimport { c } from './c.js';"],
    ['sql/b.ts', "import type { a } from '../keys/a.js';"],
    ['audit/d.ts', "import { e } from '../paging/e.js';"],
  ]);
  expect(arrowsUp(order, sources)).toEqual(['sql/b.ts imports keys/a.js', 'audit/d.ts imports paging/e.js']);
});

/** Returns the row of each folder in the table of the README; two folders of one row do not import each other. */
function roomsOf(readme: string): Map<string, number> {
  const rows = readme.split('\n').map((line) => /^\| (`[a-z]+\/`(?:, `[a-z]+\/`)*) \|/.exec(line)?.[1]);
  const named = rows.filter((row) => row !== undefined);
  return new Map(named.flatMap((row, position) => row.split(', ').map((name): [string, number] => [name.slice(1, -2), position])));
}

function arrowsUp(order: ReadonlyMap<string, number>, sources: ReadonlyMap<string, string>): string[] {
  return [...sources].flatMap(([file, text]) =>
    [...text.matchAll(/ from '(\.\.\/[^']+)'/g)]
      .map(([, path = '']) => join(file, '..', path))
      .filter((target) => roomOf(target) !== roomOf(file) && (order.get(roomOf(target)) ?? Infinity) <= (order.get(roomOf(file)) ?? 0))
      .map((target) => `${file} imports ${target}`),
  );
}

function roomOf(file: string): string {
  return file.split('/')[0] ?? '';
}
