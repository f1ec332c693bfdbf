import { changedLimits, chosenLimits, describeModelList, draftLimits, limitWords, matchModels, readLimits } from './key-limits.js';

const LIMITS = {
  models: ['sim-tiny', 'gpt-*'],
  networks: ['10.0.0.0/8'],
  requestsPerMinuteMax: 60,
  tokensPerMinuteMax: 100_000,
  concurrencyMax: 5,
  modelLimits: [
    { model: 'sim-*', requestsPerMinuteMax: 3 },
    { model: 'gpt-*', tokensPerMinuteMax: 9 },
  ],
};
const NONE = { models: [], networks: [], requestsPerMinuteMax: null, tokensPerMinuteMax: null, concurrencyMax: null, modelLimits: [] };

test('the fields of a form have the limits of a key, and give them back', () => {
  expect(readLimits(draftLimits(LIMITS))).toEqual(LIMITS);
  expect(readLimits(draftLimits())).toEqual(NONE);
});

test('a list may have lines, commas and repetitions', () => {
  expect(readLimits({ ...draftLimits(), models: ' sim-tiny, gpt-*\n\nsim-tiny ' }).models).toEqual(['sim-tiny', 'gpt-*']);
});

test('only what a form changed is sent; null and an empty list clear', () => {
  const draft = draftLimits(LIMITS);
  expect(changedLimits(LIMITS, draft)).toEqual({});
  expect(changedLimits(LIMITS, { ...draft, models: '', requests: '', atOnce: '6', byModel: draft.byModel.slice(1) })).toEqual({
    models: [],
    requestsPerMinuteMax: null,
    concurrencyMax: 6,
    modelLimits: [{ model: 'gpt-*', tokensPerMinuteMax: 9 }],
  });
  expect(chosenLimits(draftLimits())).toEqual({});
  expect(chosenLimits({ ...draftLimits(), networks: '::1' })).toEqual({ networks: ['::1'] });
});

test('limits in words', () => {
  expect(limitWords(NONE)).toEqual([]);
  expect(limitWords({ models: ['sim-tiny'] })).toEqual([{ text: 'sim-tiny', whole: 'Only these models: sim-tiny' }]);
  expect(limitWords(LIMITS)).toEqual([
    { text: '2 models', whole: 'Only these models: sim-tiny, gpt-*' },
    { text: '10.0.0.0/8', whole: 'Only from these networks: 10.0.0.0/8' },
    { text: '60 req/min', whole: '60 requests a minute' },
    { text: '100 k tok/min', whole: '100,000 tokens a minute' },
    { text: '5 at once', whole: '5 requests at once' },
    { text: 'by model', whole: 'sim-*: 3 requests a minute; gpt-*: 9 tokens a minute' },
  ]);
});

test('a pattern that allows no model of today is told apart, as a misspelled id', () => {
  const ids = ['sim-fast', 'sim-reason', 'other'];
  expect(matchModels(['sim-*', 'sim-fsat'], ids)).toEqual({ allowed: ['sim-fast', 'sim-reason'], unmatched: ['sim-fsat'] });
  expect(matchModels(['gpt-*'], ids)).toEqual({ allowed: [], unmatched: ['gpt-*'] });
});

test('the hint of an empty list names models that there are', () => {
  expect(describeModelList(['a', 'b', 'c', 'd'])).toBe(
    'Empty: all models. Otherwise ids such as a, b, c, or patterns such as gpt-*, one a line.',
  );
  expect(describeModelList([])).toBe('Empty: all models. Otherwise ids, or patterns such as gpt-*, one a line.');
});
