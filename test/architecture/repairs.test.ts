import { readFileSync, writeFileSync } from 'node:fs';
import { renderRepairs } from '../../apps/inference-proxy/test/repairs.js';

const PAGE = 'docs/dialects.md';
const TABLE = /(?<=<!-- Repairs: [^\n]* -->\n\n)[\s\S]*?(?=\n\n<!-- End of repairs -->)/;

test('the table of repairs in docs/dialects.md is current', () => {
  const page = readFileSync(PAGE, 'utf8');
  expect(page).toMatch(TABLE);
  if (process.env.REPAIRS === 'write') writeFileSync(PAGE, page.replace(TABLE, renderRepairs()));
  expect(TABLE.exec(readFileSync(PAGE, 'utf8'))?.[0]).toBe(renderRepairs());
});
