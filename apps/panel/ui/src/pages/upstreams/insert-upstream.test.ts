import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { insertUpstream, type NewUpstream } from './insert-upstream.js';

const VLLM: NewUpstream = {
  ...{ id: 'vllm', kind: 'openai-chat', baseUrl: 'http://10.0.0.7:8000/v1', apiKeyEnv: 'UPSTREAM_KEY_VLLM', allowPrivateNetwork: true },
};
const ENTRY = { id: 'vllm', kind: 'openai-chat', baseUrl: VLLM.baseUrl, apiKeyEnv: 'UPSTREAM_KEY_VLLM', allowPrivateNetwork: true };

test.each([
  ['the catalog of npm start', readFileSync('config/catalog.yaml', 'utf8')],
  ['an empty list', 'upstreams: []\nmodels: []\n'],
  ['no list', 'models: []\n'],
  ['a list without indentation', 'upstreams:\n- id: a\n  kind: openai-chat\n\n# The models.\nmodels: []\n'],
  ['a list at the end of the file', 'models: []\nupstreams:\n    - id: a\n      kind: gemini'],
  ['a comment below the last entry', 'upstreams:\n  - id: a\n    # more\n\nmodels: []\n'],
])('an upstream is added to %s, and nothing else changes', (_, yaml) => {
  const changed = insertUpstream(yaml, VLLM);
  const before = parse(yaml) as { upstreams?: object[] };
  expect(parse(changed)).toEqual({ ...before, upstreams: [...(before.upstreams ?? []), ENTRY] });
  const kept = new Set(changed.split('\n'));
  expect(yaml.split('\n').filter((line) => !kept.has(line) && line !== 'upstreams: []')).toEqual([]);
});

test('an upstream of the public network without a key has no lines for them', () => {
  const added = insertUpstream('upstreams: []\n', { ...VLLM, apiKeyEnv: '', allowPrivateNetwork: false });
  expect(parse(added)).toEqual({ upstreams: [{ id: 'vllm', kind: 'openai-chat', baseUrl: VLLM.baseUrl }] });
});
