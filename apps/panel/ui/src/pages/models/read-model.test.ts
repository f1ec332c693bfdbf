import { findIdFault, type ModelTexts, readModel, readPrice, readTokens } from './read-model.js';

const TEXTS: ModelTexts = {
  ...{ id: ' qwen ', upstream: 'local', model: '', contextTokens: '131,072', maxOutputTokens: '8192', defaultOutputTokens: '' },
  ...{ inputUsdPerMTok: '$1,000.50', cachedInputUsdPerMTok: '', cacheWriteUsdPerMTok: '', outputUsdPerMTok: '0.6000000' },
};
const ABILITIES = { takesImages: false, reasons: false };

test('a form is read with the defaults of its empty fields, and prices as the catalog takes them', () => {
  expect(readModel(TEXTS, ABILITIES, [])).toEqual({
    ...{ id: 'qwen', upstream: 'local', model: 'qwen', contextTokens: 131_072n, maxOutputTokens: 8_192n, defaultOutputTokens: undefined },
    ...ABILITIES,
    price: { inputUsdPerMTok: '1000.50', cachedInputUsdPerMTok: '1000.50', outputUsdPerMTok: '0.60' },
  });
});

test.each<[string, Partial<ModelTexts>]>([
  ['no id', { id: ' ' }],
  ['an id that is taken', { id: 'sim-fast' }],
  ['no upstream', { upstream: '' }],
  ['no context', { contextTokens: '' }],
  ['a reply longer than the context', { maxOutputTokens: '131073' }],
  ['no input price', { inputUsdPerMTok: '' }],
  ['no output price', { outputUsdPerMTok: '' }],
  ['an optional price that is none', { cacheWriteUsdPerMTok: 'free' }],
])('a form with %s is not sent', (_, part) => {
  expect(readModel({ ...TEXTS, ...part }, ABILITIES, ['sim-fast'])).toBeUndefined();
});

test('an id says what is wrong with it', () => {
  expect(['', 'a/b', '-a', 'a b', 'taken'].map((id) => findIdFault(id, ['taken']))).toEqual([
    ...[null, null],
    ...Array(2).fill('Write letters, digits and ._:/@- with a letter or digit first.'),
    'The file has a model of this id.',
  ]);
});

test('fields for tokens say what is wrong with them', () => {
  expect(readTokens({ contextTokens: '0', maxOutputTokens: '8k', defaultOutputTokens: '2147483648' })).toEqual({
    contextTokens: { fault: 'Write a number from 1 to 2,147,483,647.' },
    maxOutputTokens: { fault: 'Write a whole number such as 5000000.' },
    defaultOutputTokens: { fault: 'Write a number from 1 to 2,147,483,647.' },
  });
  expect(readTokens({ contextTokens: '10', maxOutputTokens: '9', defaultOutputTokens: '10' }).defaultOutputTokens).toEqual({
    fault: 'It must not be above the longest reply.',
  });
});

test('a price of a million tokens has at most seven digits and six decimals', () => {
  expect(['10000000', '0.0000001', '0,15', '0.000001'].map(readPrice)).toEqual([
    { fault: 'A price has at most 7 digits before the point.' },
    { fault: 'A price here has at most 6 decimals.' },
    { fault: 'Write cents with a point: 0.15' },
    { amount: 1_000_000n },
  ]);
});
