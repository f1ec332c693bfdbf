import { UsageCounter } from '../anthropic-messages/usage.js';
import { parseUsage as parseChatUsage } from '../openai-chat/usage.js';
import { parseUsage as parseResponsesUsage } from '../openai-responses/usage.js';
import type { Oddity } from '../upstream-adapter.js';

/** Counts as `prompt cached output reasoning total`. */
const rows: [string, number[], number[], boolean][] = [
  ['counts that add up', [20, 5, 198, 0, 218], [20, 5, 198, 0], false],
  ['no total', [20, 0, 198, 0, 0], [20, 0, 198, 0], false],
  ['thinking that stands only in the total', [20, 0, 198, 0, 623], [20, 0, 603, 405], true],
  ['cached tokens that the prompt leaves out', [20, 100, 198, 0, 318], [20, 20, 198, 0], false],
  ['a total beyond the cap of the call', [20, 0, 198, 0, 5_030], [20, 0, 198, 0], true],
  ['a total that is too small', [20, 0, 198, 0, 100], [20, 0, 198, 0], false],
];

test.each(rows)(
  '%s',
  (_what, [prompt, cached, output, reasoning, total], [promptTokens, cachedTokens, outputTokens, reasoningTokens], odd) => {
    const oddities: Oddity[] = [];
    const expected = { promptTokens, cachedTokens, outputTokens, reasoningTokens, promptSource: 'reported', outputSource: 'reported' };
    const chat = {
      ...{ prompt_tokens: prompt, completion_tokens: output, total_tokens: total },
      ...{ prompt_tokens_details: { cached_tokens: cached }, completion_tokens_details: { reasoning_tokens: reasoning } },
    };
    const responses = {
      ...{ input_tokens: prompt, output_tokens: output, total_tokens: total },
      ...{ input_tokens_details: { cached_tokens: cached }, output_tokens_details: { reasoning_tokens: reasoning } },
    };
    const call = { capabilities: {}, outputTokensMax: 1_000, onOddity: (oddity: Oddity) => void oddities.push(oddity) };
    expect(parseChatUsage(chat, call)).toEqual(expected);
    expect(parseResponsesUsage(responses, call)).toEqual(expected);
    expect(oddities.map(({ kind }) => kind)).toEqual(odd ? ['contradictory-usage', 'contradictory-usage'] : []);
  },
);

test('reasoning that is counted apart is output, and no contradiction', () => {
  const onOddity = (oddity: Oddity) => {
    throw new Error(oddity.detail);
  };
  expect(
    parseChatUsage(
      { prompt_tokens: 21, completion_tokens: 0, completion_tokens_details: { reasoning_tokens: 60 }, total_tokens: 81 },
      { capabilities: {}, outputTokensMax: 1_000, onOddity },
    ),
  ).toMatchObject({ promptTokens: 21, outputTokens: 60, reasoningTokens: 60 });
});

describe('in each dialect', () => {
  const call = { capabilities: {}, outputTokensMax: 1_000 };
  const readAll = (usage: object): unknown[] => {
    const counter = new UsageCounter();
    counter.read(usage);
    return [parseChatUsage(usage, call), parseResponsesUsage(usage, call), counter.usage];
  };
  const expected = expect.objectContaining({ promptTokens: 30, outputTokens: 10, promptSource: 'reported', outputSource: 'reported' });

  test.each<[string, object]>([
    ['the names of Chat', { prompt_tokens: 30, completion_tokens: 10 }],
    ['the names of Responses and Messages', { input_tokens: 30, output_tokens: 10 }],
    ['both, one null', { prompt_tokens: null, input_tokens: 30, completion_tokens: 10, output_tokens: null }],
    ['counts in digits', { input_tokens: '30', output_tokens: '10' }],
  ])('%s are read', (_what, usage) => expect(readAll(usage)).toEqual([expected, expected, expected]));

  test.each([null, undefined, 0])('a prompt of %p beside a total is the rest of it', (prompt) => {
    const chat = { prompt_tokens: prompt, completion_tokens: 10, total_tokens: 40 };
    const responses = { input_tokens: prompt, output_tokens: 10, total_tokens: 40 };
    expect([parseChatUsage(chat, call), parseResponsesUsage(responses, call)]).toEqual([expected, expected]);
  });

  const cached = expect.objectContaining({ promptTokens: 1_010, cachedTokens: 1_000, outputTokens: 5 });
  test.each<[string, object]>([
    ['Anthropic’s', { input_tokens: 10, cache_read_input_tokens: 1_000, cache_creation_input_tokens: 0, output_tokens: 5 }],
    ['OpenAI’s, but for the cache', { prompt_tokens: 1_010, completion_tokens: 5, cache_read_input_tokens: 1_000 }],
    ['Chat’s', { prompt_tokens: 1_010, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 1_000 } }],
    ['Responses’', { input_tokens: 1_010, output_tokens: 5, input_tokens_details: { cached_tokens: 1_000 } }],
  ])('the names decide whether the prompt contains the cache: %s', (_what, usage) => {
    expect(readAll(usage)).toEqual([cached, cached, cached]);
  });

  test('the catalog wins over the names', () => {
    const anthropics = { input_tokens: 1_010, cache_read_input_tokens: 1_000, output_tokens: 5 };
    const within = { ...call, capabilities: { cachedApart: false } };
    const counter = new UsageCounter(true);
    counter.read({ prompt_tokens: 10, cache_read_input_tokens: 1_000, completion_tokens: 5 });
    expect([parseChatUsage(anthropics, within), parseResponsesUsage(anthropics, within), counter.usage]).toEqual([cached, cached, cached]);
  });

  test('later counts under other names do not count the cache twice', () => {
    const counter = new UsageCounter();
    counter.readStart({ input_tokens: 10, cache_read_input_tokens: 1_000 });
    counter.read({ prompt_tokens: 1_010, completion_tokens: 5 });
    expect(counter.usage).toEqual(cached);
  });

  test.each([
    [510, 0],
    [530, 20],
  ])('without a prompt, reasoning beyond the output is no prompt: of a total of %i, %i are', (total_tokens, promptTokens) => {
    const details = { reasoning_tokens: 500 };
    const chat = { completion_tokens: 10, completion_tokens_details: details, total_tokens };
    const responses = { output_tokens: 10, output_tokens_details: details, total_tokens };
    const counted = expect.objectContaining({ promptTokens, outputTokens: 510, reasoningTokens: 500 });
    expect([parseChatUsage(chat, call), parseResponsesUsage(responses, call)]).toEqual([counted, counted]);
  });

  test('a total alone is neither prompt nor output', () => {
    expect([parseChatUsage({ total_tokens: 40 }, call), parseResponsesUsage({ total_tokens: 40 }, call)]).toEqual([undefined, undefined]);
  });
});

test('counts in digits are read', () => {
  const counted = { promptTokens: 30, outputTokens: 10 };
  const call = { capabilities: {}, outputTokensMax: 1_000 };
  expect(parseChatUsage({ prompt_tokens: '30', completion_tokens: '10', total_tokens: '40' }, call)).toMatchObject(counted);
  expect(parseResponsesUsage({ input_tokens: '30', output_tokens: '10', total_tokens: '40' }, call)).toMatchObject(counted);
  const messages = new UsageCounter(true);
  messages.read({ input_tokens: '20', cache_read_input_tokens: '10', output_tokens: '10' });
  expect(messages.usage).toMatchObject({ ...counted, cachedTokens: 10 });
});

test('with cachedApart the prompt contains the tokens of the cache, and a total without them is no contradiction', () => {
  const onOddity = (oddity: Oddity) => {
    throw new Error(oddity.detail);
  };
  const call = { capabilities: { cachedApart: true }, outputTokensMax: 1_000, onOddity };
  const details = { cached_tokens: 100, cache_creation_tokens: 7 };
  const expected = { promptTokens: 127, cachedTokens: 100, outputTokens: 9, reasoningTokens: 0 };
  for (const total of [29, 136]) {
    const chat = { prompt_tokens: 20, completion_tokens: 9, total_tokens: total, prompt_tokens_details: details };
    const responses = { input_tokens: 20, output_tokens: 9, total_tokens: total, input_tokens_details: details };
    expect(parseChatUsage(chat, call)).toMatchObject(expected);
    expect(parseResponsesUsage(responses, call)).toMatchObject(expected);
  }
  const total = { completion_tokens: 9, total_tokens: 136, prompt_tokens_details: details };
  expect(parseChatUsage(total, call)).toMatchObject(expected);
});

const CALL = { capabilities: { cachedApart: false }, outputTokensMax: 1_000 };
const PROMPT = { promptTokens: 100, cachedTokens: 20, outputTokens: 5, reasoningTokens: 0 };
const REPORTED = { promptSource: 'reported', outputSource: 'reported' };
const NO_LIFETIMES = { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 };
const LIFETIMES = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: 40 };

test.each<[server: string, usage: object, writes: object]>([
  ['OpenRouter', { prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 70 } }, { cacheWriteTokens: 70 }],
  ['LiteLLM of old', { cache_creation_input_tokens: 70, cache_read_input_tokens: 20 }, { cacheWriteTokens: 70 }],
  [
    'LiteLLM',
    { prompt_tokens_details: { cached_tokens: 20, cache_creation_tokens: 70, cache_creation_token_details: LIFETIMES } },
    { cacheWriteTokens: 30, cacheWrite1hTokens: 40 },
  ],
  ['a relay of Anthropic’s fields', { cached_tokens: 20, cache_creation: LIFETIMES }, { cacheWriteTokens: 30, cacheWrite1hTokens: 40 }],
  ['more than the prompt', { cached_tokens: 20, cache_creation_input_tokens: 500 }, { cacheWriteTokens: 80 }],
  ['none', { cached_tokens: 20, cache_creation_input_tokens: 0 }, {}],
])('tokens written to a cache behind Chat Completions: %s', (_, usage, writes) => {
  const reply = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105, ...usage };
  expect(parseChatUsage(reply, CALL)).toEqual({ ...PROMPT, ...writes, ...REPORTED });
});

test('tokens written to a cache behind Responses', () => {
  const reply = { input_tokens: 100, output_tokens: 5, input_tokens_details: { cached_tokens: 20, cache_write_tokens: 70 } };
  expect(parseResponsesUsage(reply, CALL)).toEqual({ ...PROMPT, cacheWriteTokens: 70, ...REPORTED });
});

test('a total that contains tokens written beside the prompt is no contradiction, and they are no output', () => {
  const onOddity = (oddity: Oddity) => {
    throw new Error(oddity.detail);
  };
  const reply = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 175, cached_tokens: 20, cache_creation: LIFETIMES };
  expect(parseChatUsage(reply, { ...CALL, onOddity })).toMatchObject({ promptTokens: 100, outputTokens: 5 });
});

/** Usage objects of a message: the first in its start, the others in its deltas. */
test.each<[what: string, reports: object[], usage: object]>([
  [
    'only the total: kept for 5 minutes',
    [{ input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 70 }],
    { cacheWriteTokens: 70 },
  ],
  [
    'by lifetime',
    [{ input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 70, cache_creation: LIFETIMES }],
    { cacheWriteTokens: 30, cacheWrite1hTokens: 40 },
  ],
  [
    'by lifetime alone',
    [{ input_tokens: 10, cache_read_input_tokens: 20, cache_creation: LIFETIMES }],
    { cacheWriteTokens: 30, cacheWrite1hTokens: 40 },
  ],
  [
    'lifetimes that exceed the total: the total counts',
    [
      {
        ...{ input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 70 },
        cache_creation: { ephemeral_5m_input_tokens: 60, ephemeral_1h_input_tokens: 60 },
      },
    ],
    { cacheWriteTokens: 10, cacheWrite1hTokens: 60 },
  ],
  [
    'a later total without lifetimes keeps those of the start',
    [
      { input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 70, cache_creation: LIFETIMES },
      { input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 70 },
    ],
    { cacheWriteTokens: 30, cacheWrite1hTokens: 40 },
  ],
  [
    'a later event that splits the same prompt anew',
    [
      { input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 70, cache_creation: LIFETIMES },
      { input_tokens: 80, cache_read_input_tokens: 20, cache_creation_input_tokens: 0 },
    ],
    {},
  ],
  [
    'a later event that counts less is ignored',
    [
      { input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 70, cache_creation: LIFETIMES },
      { input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 7 },
    ],
    { cacheWriteTokens: 30, cacheWrite1hTokens: 40 },
  ],
])('tokens written to a cache in Anthropic’s messages: %s', (_, [start, ...later], writes) => {
  const counter = new UsageCounter(true);
  counter.readStart(start);
  for (const usage of [...later, { output_tokens: 5 }]) counter.read(usage);
  expect(counter.usage).toEqual({ ...PROMPT, ...writes, ...REPORTED });
});

test.each<[string, boolean, object, object]>([
  ['for an hour', true, { cache_creation_input_tokens: 70 }, { cacheWrite1hTokens: 70 }],
  [
    'for an hour, with lifetimes of nothing',
    true,
    { cache_creation_input_tokens: 70, cache_creation: NO_LIFETIMES },
    { cacheWrite1hTokens: 70 },
  ],
  [
    'for an hour, with lifetimes',
    true,
    { cache_creation_input_tokens: 70, cache_creation: LIFETIMES },
    { cacheWriteTokens: 30, cacheWrite1hTokens: 40 },
  ],
  ['for 5 minutes', false, { cache_creation_input_tokens: 70 }, { cacheWriteTokens: 70 }],
])('a prompt that was asked to be kept %s', (_what, forAnHour, usage, writes) => {
  const counter = new UsageCounter(true, forAnHour);
  counter.readStart({ input_tokens: 10, cache_read_input_tokens: 20, ...usage });
  for (const later of [{ cache_creation_input_tokens: 70, output_tokens: 3 }, { output_tokens: 5 }]) counter.read(later);
  expect(counter.usage).toEqual({ ...PROMPT, ...writes, ...REPORTED });
});
