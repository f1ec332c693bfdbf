import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { insertModel } from './insert-model.js';

const PRICE = { inputUsdPerMTok: 'your price', cachedInputUsdPerMTok: 'your price', outputUsdPerMTok: 'your price' };
const ROUTE = { upstream: 'vllm', model: 'Qwen/Qwen3-8B' };
const ENTRY = { ownedBy: 'us', contextTokens: 131072, maxOutputTokens: 8192, price: PRICE, routes: [ROUTE] };

test.each([
  ['the catalog of npm start', readFileSync('config/catalog.yaml', 'utf8')],
  ['an empty list', 'upstreams: []\nmodels: []\n'],
  ['no list', 'upstreams: []\n'],
])('a model is drafted in %s, and nothing else changes', (_, yaml) => {
  const { yaml: changed, line } = insertModel(yaml, ROUTE);
  const before = parse(yaml) as { models?: object[] };
  expect(parse(changed)).toEqual({ ...before, models: [...(before.models ?? []), { id: 'Qwen/Qwen3-8B', ...ENTRY }] });
  expect(changed.split('\n')[line - 1]).toMatch(/- id: "Qwen\/Qwen3-8B"$/);
});

test.each(['models:\n  - id: a # the first\n', 'models:\n  - id: "a"\n'])(
  'a model whose name is taken is named by its upstream too',
  (yaml) => {
    const { models } = parse(insertModel(yaml, { upstream: 'second', model: 'a' }).yaml) as { models: object[] };
    expect(models[1]).toEqual({ id: 'second-a', ...ENTRY, routes: [{ upstream: 'second', model: 'a' }] });
  },
);
