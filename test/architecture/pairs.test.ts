import { readFileSync, writeFileSync } from 'node:fs';
import { everyCase, renderGrid, SCENARIOS } from '../e2e/pairs/grid.js';
import { CLIENT_FORMATS, DIALECTS } from '../e2e/pairs/scenario.js';

const PAGE = 'docs/pairs.md';

test('docs/pairs.md is current', () => {
  if (process.env.PAIRS === 'write') writeFileSync(PAGE, renderGrid());
  expect(readFileSync(PAGE, 'utf8')).toBe(renderGrid());
});

test('scenario names are unique, and every pair runs most scenarios', () => {
  expect(new Set(SCENARIOS.map(({ name }) => name)).size).toBe(SCENARIOS.length);
  for (const client of CLIENT_FORMATS) {
    for (const dialect of DIALECTS) {
      const count = everyCase().filter((one) => one.client === client && one.dialect === dialect).length;
      expect({ client, dialect, few: count < SCENARIOS.length * 0.8 }).toEqual({ client, dialect, few: false });
    }
  }
});
