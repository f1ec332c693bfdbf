import { findNearestModel } from './nearest-model.js';

const MODELS = ['sim-fast', 'sim-tiny', 'vendor/gpt-4o', 'o1'];

test.each([
  ['sim-fas', 'sim-fast'],
  ['sim-fats', 'sim-fast'],
  ['SIM-FAST', 'sim-fast'],
  ['simtiny', 'sim-tiny'],
  ['openai/sim-fast', 'sim-fast'],
  ['gpt-4o', 'vendor/gpt-4o'],
  ['gpt4', undefined],
  ['claude-opus', undefined],
  ['o3', undefined],
  ['O1', 'o1'],
  ['', undefined],
  ['sim-fast'.repeat(20), undefined],
])('%j: the nearest model is %j', (typed, nearest) => {
  expect(findNearestModel(typed, MODELS)).toBe(nearest);
});

test('of models that are equally near the first is offered', () => {
  expect(findNearestModel('sim-1', ['sim-2', 'sim-3'])).toBe('sim-2');
});
