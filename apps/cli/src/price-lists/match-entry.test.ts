import type { ListEntry } from './list-entry.js';
import { EntryIndex, readNamedModels } from './match-entry.js';

const entry = (key: string, provider: string, picoUsd = 1n): ListEntry => ({
  key,
  provider,
  read: () => ({ amounts: [{ of: 'inputPicoUsd', picoUsd }], others: [] }),
});

const ENTRIES = [
  entry('gpt-x', 'openai'),
  entry('azure/gpt-x', 'azure', 2n),
  entry('openrouter/openai/gpt-x', 'openrouter', 3n),
  entry('groq/qwen/qwen3', 'groq'),
  entry('together/qwen/qwen3', 'together', 2n),
  entry('a/same', 'a'),
  entry('b/same', 'b'),
];

test.each<[string, { id: string; routes?: [model: string, ...providers: string[]][] }, string | string[]]>([
  ['the bare name', { id: 'gpt-x' }, 'gpt-x'],
  ['the name at the upstream before that of the model', { id: 'gpt-x', routes: [['qwen/qwen3', 'groq']] }, 'groq/qwen/qwen3'],
  ['the provider of the upstream', { id: 'gpt-x', routes: [['gpt-x', 'my-azure', 'azure', 'com']] }, 'azure/gpt-x'],
  ['a name with its provider', { id: 'm', routes: [['openai/gpt-x']] }, 'openrouter/openai/gpt-x'],
  ['entries with one price', { id: 'same' }, 'a/same'],
  ['entries with different prices', { id: 'qwen3' }, ['groq/qwen/qwen3', 'together/qwen/qwen3']],
  ['an unknown name', { id: 'mine', routes: [['gpt']] }, []],
])('takes %s', (_, { id, routes = [] }, expected) => {
  const found = new EntryIndex(ENTRIES).find({ id, routes: routes.map(([model, ...providers]) => ({ upstream: 'u', model, providers })) });
  expect('entry' in found ? found.entry.key : found.candidates).toEqual(expected);
});

test('reads the names of models at their upstreams from a catalog', () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the notation of the catalog file
  const local = '${UPSTREAM_LOCAL_URL:-http://127.0.0.1:9100/v1}';
  const yaml = `
upstreams:
  - { id: fast, baseUrl: "https://api.groq.com/openai/v1" }
  - { id: local, baseUrl: "${local}" }
models:
  - id: qwen3
    routes: [{ upstream: fast, model: qwen/qwen3 }, { upstream: local, model: qwen3 }]
`;
  expect(readNamedModels(yaml)).toEqual([
    {
      id: 'qwen3',
      routes: [
        { upstream: 'fast', model: 'qwen/qwen3', providers: ['fast', 'api', 'groq', 'com'] },
        { upstream: 'local', model: 'qwen3', providers: ['local'] },
      ],
    },
  ]);
});
