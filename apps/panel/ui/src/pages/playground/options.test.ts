import type { CatalogModel } from '../../../../src/shapes/catalog.js';
import { readOptions } from './options.js';

const MODEL = { maxOutputTokens: 8_192 } as CatalogModel;
const TOKENS = 'From 1 to 8,192.';
const TEMPERATURE = 'From 0 to 2.';

test.each([
  ['1024', '', { maxTokens: 1_024, faults: {} }],
  ['8192', '0', { maxTokens: 8_192, temperature: 0, faults: {} }],
  ['1', ' 1.5 ', { maxTokens: 1, temperature: 1.5, faults: {} }],
  ['', '2.1', { faults: { maxTokens: TOKENS, temperature: TEMPERATURE } }],
  ['8193', 'warm', { faults: { maxTokens: TOKENS, temperature: TEMPERATURE } }],
  ['0', '-1', { faults: { maxTokens: TOKENS, temperature: TEMPERATURE } }],
  ['1.5', '', { faults: { maxTokens: TOKENS } }],
])('%j tokens at temperature %j', (maxTokens, temperature, read) => {
  expect(readOptions({ system: '', maxTokens, temperature }, MODEL)).toEqual(read);
});
