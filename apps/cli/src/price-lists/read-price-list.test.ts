import { readPriceList } from './read-price-list.js';

/** Reads the entries of a list. */
const read = (list: string) => {
  const { name, entries } = readPriceList(list) ?? { name: 'none', entries: [] };
  return { name, entries: entries.map(({ key, provider, read }) => ({ key, provider, ...read() })) };
};

test('LiteLLM: tokens, cache, sizes of the prompt, tiers, requests, and what no price has', () => {
  const list = `{
    "sample_spec": {"litellm_provider": "one of …", "input_cost_per_token": 0.0},
    "metadata": {"source": "no model"},
    "claude-x": {
      "litellm_provider": "anthropic", "max_input_tokens": 1000000, "mode": "chat", "supports_vision": true,
      "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
      "cache_read_input_token_cost": 3e-07,
      "cache_creation_input_token_cost": 3.75e-06,
      "cache_creation_input_token_cost_above_1hr": 6e-06,
      "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.2e-05,
      "input_cost_per_token_above_200k_tokens": 6e-06,
      "output_cost_per_token_above_200k_tokens": 2.25e-05,
      "input_cost_per_token_flex": 1.5e-06,
      "input_cost_per_token_above_200k_tokens_priority": 1.2e-05,
      "input_cost_per_request": 0.005,
      "input_cost_per_token_batches": 1.5e-06,
      "output_cost_per_reasoning_token": 0.0,
      "search_context_cost_per_query": {"search_context_size_low": 0.03},
      "cache_creation_input_audio_token_cost": null
    },
    "openrouter/odd": {
      "litellm_provider": "openrouter",
      "input_cost_per_token": 8.33333333e-08,
      "output_cost_per_token": "1e-06",
      "cache_read_input_token_cost": null,
      "input_cost_per_token_priority": 100.5
    }
  }`;
  expect(read(list)).toEqual({
    name: 'LiteLLM',
    entries: [
      {
        key: 'claude-x',
        provider: 'anthropic',
        amounts: [
          { of: 'inputPicoUsd', picoUsd: 3_000_000n },
          { of: 'outputPicoUsd', picoUsd: 15_000_000n },
          { of: 'cachedInputPicoUsd', picoUsd: 300_000n },
          { of: 'cacheWritePicoUsd', picoUsd: 3_750_000n },
          { of: 'cacheWrite1hPicoUsd', picoUsd: 6_000_000n },
          { of: 'cacheWrite1hPicoUsd', above: 200_000, picoUsd: 12_000_000n },
          { of: 'inputPicoUsd', above: 200_000, picoUsd: 6_000_000n },
          { of: 'outputPicoUsd', above: 200_000, picoUsd: 22_500_000n },
          { of: 'inputPicoUsd', tier: 'flex', picoUsd: 1_500_000n },
          { of: 'inputPicoUsd', above: 200_000, tier: 'priority', picoUsd: 12_000_000n },
          { of: 'requestPicoUsd', picoUsd: 5_000_000_000n },
        ],
        others: ['input_cost_per_token_batches: 1.5e-06', 'search_context_cost_per_query: {"search_context_size_low":"0.03"}'],
      },
      {
        key: 'openrouter/odd',
        provider: 'openrouter',
        amounts: [],
        others: [
          'input_cost_per_token (no whole number of pico-dollars within a price): 8.33333333e-08',
          'output_cost_per_token (no whole number of pico-dollars within a price): "1e-06"',
          'input_cost_per_token_priority (no whole number of pico-dollars within a price): 100.5',
        ],
      },
    ],
  });
});

test('models.dev: tokens, cache, sizes of the prompt in both forms, and what no price has', () => {
  const list = `{
    "groq": {"id": "groq", "models": {
      "qwen/qwen3": {"id": "qwen/qwen3", "cost": {"input": 0.29, "output": 0.59, "cache_read": 0, "cache_write": 0.375, "reasoning": 4, "input_audio": 0}},
      "free": {"id": "free"}
    }},
    "google": {"id": "google", "models": {
      "old": {"cost": {"input": 1.25, "output": 10, "context_over_200k": {"input": 2.5, "output": 15}}},
      "new": {
        "cost": {
          "input": 5, "output": 30,
          "tiers": [{"tier": {"type": "context", "size": 272000}, "input": 10, "output": 45}, {"tier": {"type": "hour", "size": 1}, "input": 1}],
          "context_over_200k": {"input": 10, "output": 45}
        },
        "experimental": {"modes": {"fast": {"cost": {"input": 30}}}}
      }
    }},
    "empty": {"id": "empty", "models": {}}
  }`;
  expect(read(list)).toEqual({
    name: 'models.dev',
    entries: [
      {
        key: 'groq/qwen/qwen3',
        provider: 'groq',
        amounts: [
          { of: 'inputPicoUsd', picoUsd: 290_000n },
          { of: 'outputPicoUsd', picoUsd: 590_000n },
          { of: 'cachedInputPicoUsd', picoUsd: 0n },
          { of: 'cacheWritePicoUsd', picoUsd: 375_000n },
        ],
        others: ['cost.reasoning: 4'],
      },
      { key: 'groq/free', provider: 'groq', amounts: [], others: [] },
      {
        key: 'google/old',
        provider: 'google',
        amounts: [
          { of: 'inputPicoUsd', picoUsd: 1_250_000n },
          { of: 'outputPicoUsd', picoUsd: 10_000_000n },
          { of: 'inputPicoUsd', above: 200_000, picoUsd: 2_500_000n },
          { of: 'outputPicoUsd', above: 200_000, picoUsd: 15_000_000n },
        ],
        others: [],
      },
      {
        key: 'google/new',
        provider: 'google',
        amounts: [
          { of: 'inputPicoUsd', picoUsd: 5_000_000n },
          { of: 'outputPicoUsd', picoUsd: 30_000_000n },
          { of: 'inputPicoUsd', above: 272_000, picoUsd: 10_000_000n },
          { of: 'outputPicoUsd', above: 272_000, picoUsd: 45_000_000n },
        ],
        others: ['cost.tiers[1]: {"tier":{"type":"hour","size":"1"},"input":"1"}', 'experimental.modes: {"fast":{"cost":{"input":"30"}}}'],
      },
    ],
  });
});

test.each(['', 'no JSON', '[]', '3', '{}', '{"a": {"b": 1}}'])('%s is no list of prices', (text) => {
  expect(readPriceList(text)).toBeUndefined();
});
