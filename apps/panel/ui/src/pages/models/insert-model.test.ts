import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { insertModel, insertWholeModel } from './insert-model.js';
import { type ModelTexts, readModel } from './read-model.js';

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

const FILES = [
  readFileSync('config/catalog.yaml', 'utf8'),
  'models: [] # none yet\nupstreams:\n- id: a\n  kind: gemini\n\n\n',
  'upstreams: []\n\n\n',
  'upstreams: []',
  "models:\n- { id: 'first', ownedBy: us } # one line\n\n# Below the models.\nupstreams: []\n",
  'upstreams: []\nmodels:\n    - ownedBy: us\n      id: first\n      # the end',
];

test.each(Array.from({ length: 40 }, (_, seed) => [seed]))('what the form writes parses back, and every other byte stays (%i)', (seed) => {
  for (const yaml of FILES) {
    const texts = randomTexts(seed);
    const abilities = { takesImages: seed % 2 === 0, reasons: seed % 3 === 0 };
    const model = readModel(texts, abilities, []);
    if (!model) throw new Error(`refused: ${JSON.stringify(texts)}`);
    const { yaml: changed, line } = insertWholeModel(yaml, model);
    const before = parse(yaml) as { models?: object[] };
    expect(parse(changed)).toEqual({ ...before, models: [...(before.models ?? []), entry(texts, abilities)] });
    expect(changed.split('\n')[line - 1]).toMatch(/- id: /);
    expect(findInserted(yaml.replace('models: []', 'models:'), changed).trim()).toMatch(/^(models:\n\s*)?- id: [\s\S]*\]$/);
  }
});

/** Returns what stands in `changed` between the longest beginning and end that it shares with `before`, which together must be all of it. */
function findInserted(before: string, changed: string): string {
  let start = 0;
  while (start < before.length && before[start] === changed[start]) start++;
  const rest = before.slice(start);
  expect(changed.endsWith(rest)).toBe(true);
  return changed.slice(start, changed.length - rest.length);
}

/** Fields that a person may type, ids and names that YAML would read as something else among them. */
function randomTexts(seed: number): ModelTexts {
  let state = seed + 1;
  const pick = <Value>(values: readonly [Value, ...Value[]]): Value => {
    state = (state * 48_271) % 2_147_483_647;
    return values[state % values.length] ?? values[0];
  };
  const prices = ['0', '0.15', '0.150', '1.3', '9999999.999999', '0.000001', '00.30'] as const;
  return {
    id: pick(['1e3', 'null', 'true', '0x1F', 'Qwen/Qwen3-8B', '2026-01-01', 'a:b@c', 'y']),
    upstream: pick(['local', '1.0', 'no']),
    model: pick(['', 'with "quotes"', "it's # no comment: {x}", 'C:\\models\\a', '\u2028ü – 模型', '- dash', '*alias & anchor', '%']),
    contextTokens: pick(['131072', '131,072', '2147483647']),
    maxOutputTokens: pick(['1', '8,192', '131072']),
    defaultOutputTokens: pick(['', '1']),
    inputUsdPerMTok: pick(prices),
    cachedInputUsdPerMTok: pick(['', ...prices]),
    cacheWriteUsdPerMTok: pick(['', ...prices]),
    outputUsdPerMTok: pick(prices),
  };
}

/** The entry of the fields, with the decimals as they were typed. */
function entry(texts: ModelTexts, { takesImages, reasons }: { takesImages: boolean; reasons: boolean }): object {
  const number = (text: string) => Number(text.replaceAll(',', ''));
  const { inputUsdPerMTok, cachedInputUsdPerMTok, cacheWriteUsdPerMTok, outputUsdPerMTok } = texts;
  return {
    ...{ id: texts.id, ownedBy: 'us', contextTokens: number(texts.contextTokens), maxOutputTokens: number(texts.maxOutputTokens) },
    ...(texts.defaultOutputTokens && { defaultOutputTokens: number(texts.defaultOutputTokens) }),
    ...(takesImages && { input: ['text', 'image'] }),
    ...(reasons && { reasoning: true }),
    price: {
      ...{ inputUsdPerMTok, cachedInputUsdPerMTok: cachedInputUsdPerMTok || inputUsdPerMTok, outputUsdPerMTok },
      ...(cacheWriteUsdPerMTok && { cacheWriteUsdPerMTok }),
    },
    routes: [{ upstream: texts.upstream, model: texts.model.trim() || texts.id }],
  };
}
