import { compareUsage, nameModels } from './compare-usage.js';

const NAMES = nameModels([
  { id: 'fast', name: 'gpt-x' },
  { id: 'fast-eu', name: 'gpt-x' },
  { id: 'large', name: 'gpt-y' },
]);
const row = (start: string, model: string, promptTokens: number, outputTokens: number) => ({
  ...{
    start: `${start}T00:00:00.000Z`,
    model,
    requests: 1,
    estimatedRequests: 0,
    promptTokens,
    cachedTokens: 0,
    outputTokens,
    reasoningTokens: 0,
  },
  ...{ costPicoUsd: '0', forfeitedPicoUsd: '0' },
});
const vendor = (day: string, model: string, prompt: number, output: number) => ({ day, model, counts: { prompt, output } });

test('names a model whose usage is overstated by three percent, and each day of it', () => {
  const journal = [row('2027-01-15', 'fast', 600, 100), row('2027-01-15', 'fast-eu', 400, 100), row('2027-01-15', 'large', 500, 50)];
  expect(compareUsage(journal, [vendor('2027-01-15', 'gpt-x', 1_030, 206), vendor('2027-01-15', 'gpt-y', 500, 50)], NAMES, 1)).toEqual({
    differences: [
      { day: '2027-01-15', model: 'gpt-x', count: 'prompt', journal: 1_000, vendor: 1_030, percent: 3 },
      { day: '2027-01-15', model: 'gpt-x', count: 'output', journal: 200, vendor: 206, percent: 3 },
    ],
    totals: [
      { day: null, model: 'gpt-x', count: 'prompt', journal: 1_000, vendor: 1_030, percent: 3 },
      { day: null, model: 'gpt-x', count: 'output', journal: 200, vendor: 206, percent: 3 },
      { day: null, model: 'gpt-y', count: 'prompt', journal: 500, vendor: 500, percent: 0 },
      { day: null, model: 'gpt-y', count: 'output', journal: 50, vendor: 50, percent: 0 },
    ],
    estimatedRequests: 0,
  });
});

test('a difference within the tolerance is none', () => {
  const journal = [row('2027-01-15', 'fast', 1_000, 100)];
  expect(compareUsage(journal, [vendor('2027-01-15', 'gpt-x', 1_010, 99)], NAMES, 1).differences).toEqual([]);
});

test('days and models that only one side has differ; counts that the vendor does not have are not compared', () => {
  const journal = [{ ...row('2027-01-15', 'gone', 10, 0), estimatedRequests: 1, cachedTokens: 5 }];
  const { differences, estimatedRequests } = compareUsage(journal, [vendor('2027-01-16', 'other', 7, 0)], NAMES, 100);
  expect({ differences, estimatedRequests }).toEqual({
    differences: [{ day: '2027-01-16', model: 'other', count: 'prompt', journal: 0, vendor: 7, percent: null }],
    estimatedRequests: 1,
  });
  expect(compareUsage(journal, [vendor('2027-01-16', 'other', 7, 0)], NAMES, 1).differences).toContainEqual({
    ...{ day: '2027-01-15', model: 'gone', count: 'prompt', journal: 10, vendor: 0, percent: -100 },
  });
});

test('a model with two names at an upstream has them together', () => {
  const { ofModel, ofName } = nameModels([{ id: 'a', name: 'x' }, { id: 'b', name: 'z' }, { id: 'a', name: 'y' }]); // biome-ignore format: one line
  expect([Object.fromEntries(ofModel), Object.fromEntries(ofName)]).toEqual([
    { a: 'x + y', b: 'z' },
    { x: 'x + y', y: 'x + y', z: 'z' },
  ]);
});
