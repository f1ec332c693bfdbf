import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { answering, collectRun } from '../../test/collect-run.js';

const folder = mkdtempSync(join(tmpdir(), 'price-list-'));
afterAll(() => rmSync(folder, { recursive: true }));

const price = { version: 1, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' };
const REPLIES: Record<string, unknown> = {
  'catalog.v1.model.list': {
    revision: 3,
    models: [
      { id: 'small', price },
      { id: 'own', price },
      { id: 'qwen3', price },
    ],
  },
  'catalog.v1.catalog.get': {
    yaml: `
upstreams: [{ id: openai, baseUrl: "https://api.openai.com/v1" }]
models:
  - { id: small, routes: [{ upstream: openai, model: gpt-small }] }
  - { id: own, routes: [{ upstream: openai, model: own }] }
  - { id: qwen3, routes: [{ upstream: openai, model: qwen3 }] }
`,
  },
};

const LIST = `{
  "gpt-small": {"litellm_provider": "openai", "input_cost_per_token": 2e-07, "output_cost_per_token": 6e-07, "output_cost_per_token_priority": 1e-06,
    "input_cost_per_audio_token": 1e-05, "input_cost_per_token_above_200k_tokens": 4e-07},
  "groq/qwen3": {"litellm_provider": "groq", "input_cost_per_token": 1.5e-07, "cache_read_input_token_cost": 1.5e-08, "output_cost_per_token": 6e-07},
  "together/qwen3": {"litellm_provider": "together", "input_cost_per_token": 3e-07}
}`;

async function run(list: string, ...options: string[]) {
  const file = join(folder, 'list.json');
  writeFileSync(file, list);
  const asked: string[] = [];
  const answer = (subject: string): unknown => {
    asked.push(subject);
    return REPLIES[subject];
  };
  return { ...(await collectRun(['catalog', 'prices', file, ...options], answering(answer))), asked };
}

test('shows what differs, what is uncertain, and the prices to paste [price-list-compared]', async () => {
  expect(await run(LIST)).toEqual({
    code: 1,
    err: '',
    asked: ['catalog.v1.model.list', 'catalog.v1.catalog.get'],
    out: `LiteLLM, 3 entries; USD per million tokens, or per request

small: gpt-small
  FIELD                                NOW   LIST
  inputUsdPerMTok                      0.15  0.20
  steps[200000].reprices               -     whole
  steps[200000].inputUsdPerMTok        -     0.40
  steps[200000].cachedInputUsdPerMTok  -     0.015
  the list does not name: cachedInputUsdPerMTok
  tiers of the list that --tiers would add: priority
  not in a price: input_cost_per_audio_token: 1e-05

own: not in the list

qwen3: entries with different prices, choose with --entries "qwen3=…"
  groq/qwen3
  together/qwen3

# Prices for the catalog file:
models:
  - id: small
    price:
      inputUsdPerMTok: "0.20"
      cachedInputUsdPerMTok: "0.015"
      outputUsdPerMTok: "0.60"
      steps:
        - above: 200000
          reprices: whole
          inputUsdPerMTok: "0.40"
          cachedInputUsdPerMTok: "0.015"
`,
  });
});

test('equal prices of a chosen entry, as JSON', async () => {
  const { code, out } = await run(LIST, '--models', 'qwen3', '--entries', 'qwen3=groq/qwen3', '--json');
  expect({ code, out: JSON.parse(out) }).toEqual({
    code: 0,
    out: {
      list: 'LiteLLM',
      models: [
        {
          model: 'qwen3',
          entry: 'groq/qwen3',
          candidates: [],
          changes: [],
          kept: [],
          otherTiers: [],
          notExpressed: [],
          price: { inputUsdPerMTok: '0.15', cachedInputUsdPerMTok: '0.015', outputUsdPerMTok: '0.60' },
        },
      ],
    },
  });
});

test.each<[problem: string, code: number, list: string, ...options: string[]]>([
  ["is neither LiteLLM's nor models.dev's list of prices", 2, '{"a": 1}'],
  ['the catalog has no model gone', 2, LIST, '--models', 'gone'],
  ['the list has no entry gone', 2, LIST, '--entries', 'own=gone'],
])('%s', async (problem, code, list, ...options) => {
  expect(await run(list, ...options)).toMatchObject({ code, out: '', err: expect.stringContaining(problem) });
});

test('a model that is asked for by name and not in the list is a failure', async () => {
  expect(await run(LIST, '--models', 'own')).toMatchObject({ code: 1, out: expect.stringContaining('own: not in the list') });
});
