import { UPSTREAM_KINDS, type Upstream, type UpstreamCapabilities } from '#contracts/catalog.js';
import type { UpstreamProbeEnd } from '#contracts/probe.js';
import { CAPABILITY_DEFAULTS, TIMEOUT_DEFAULTS } from '#contracts/upstream-defaults.js';
import { runProbe } from '../../apps/inference-proxy/src/probe/run-probe.js';
import { type SimServer, startSimServer } from '../../apps/upstream-sim/src/sim-server.js';

/** Findings of `upstreams test` for simulators with every ability in every dialect, and for some without. */

type Kind = Upstream['kind'];
const KINDS = UPSTREAM_KINDS;
const KEY_VARIABLE = 'UPSTREAM_KEY_TEST';

let sim: SimServer | undefined;
afterEach(async () => {
  await sim?.close();
  sim = undefined;
  delete process.env[KEY_VARIABLE];
  delete process.env[`${KEY_VARIABLE}_HOSTS`];
});

interface Found {
  /** Verdict of each check: `yes`, `no`, … */
  verdicts: Record<string, string>;
  evidence: Record<string, string>;
  end: UpstreamProbeEnd;
  /** Capabilities that differ from the catalog. */
  found: Partial<UpstreamCapabilities>;
}

interface Wish {
  defaults?: string;
  model?: string;
  apiKey?: string;
  apiKeyEnv?: string;
  catalog?: Partial<UpstreamCapabilities>;
  contextTokens?: number;
}

async function findOut(kind: Kind, { defaults, model = 'sim-fast', apiKey, apiKeyEnv, catalog, contextTokens }: Wish = {}): Promise<Found> {
  sim = await startSimServer({ host: '127.0.0.1', port: 0, defaults, apiKey });
  process.env[`${KEY_VARIABLE}_HOSTS`] = sim.url;
  const upstream: Upstream = {
    id: 'sim',
    kind,
    baseUrl: `${sim.url}/v1`,
    apiKeyEnv: apiKeyEnv ?? null,
    allowPrivateNetwork: true,
    capabilities: { ...CAPABILITY_DEFAULTS, ...catalog },
    timeouts: { ...TIMEOUT_DEFAULTS },
    connectionsMax: 8,
  };
  const verdicts: Record<string, string> = {};
  const evidence: Record<string, string> = {};
  const job = { upstream, isInCatalog: true, models: [model] as const, contextTokens };
  for await (const events of runProbe(job, new AbortController().signal)) {
    for (const event of events) {
      if (event.type === 'check-end') {
        verdicts[event.check.id] = event.check.verdict;
        evidence[event.check.id] = event.check.evidence;
      }
      if (event.type === 'test-end') {
        const found = Object.fromEntries(event.changes.map(({ name, found: value }) => [name, value]));
        return { verdicts, evidence, end: event, found };
      }
    }
  }
  throw new Error('no end');
}

/** Retries a probe up to three times, because a busy machine may merge the pieces of a stream or delay the close of a socket. */
async function findOutInTime(kind: Kind, wish: Wish): Promise<Found> {
  for (let attempt = 1; ; attempt++) {
    const found = await findOut(kind, wish);
    const isInTime = found.verdicts['stream-pieces'] === 'yes' && found.verdicts.cancel === 'yes';
    if (isInTime || attempt === 3) return found;
    await sim?.close();
  }
}

/** At this pace a stream takes a fifth of a second, so that the probe sees its pieces and can cancel it. */
const PACED = 'rate=200 cached=64';
const EVERYWHERE = {
  reachable: 'yes',
  key: 'yes',
  model: 'yes',
  plain: 'yes',
  stream: 'yes',
  'stream-pieces': 'yes',
  'usage-plain': 'yes',
  'usage-stream': 'yes',
  'output-cap': 'yes',
  temperature: 'yes',
  'top-p': 'yes',
  tools: 'yes',
  'tools-stream': 'yes',
  'tools-parallel': 'yes',
  'tool-choice': 'yes',
  'tool-choice-none': 'yes',
  'strict-tools': 'yes',
  'tool-results': 'yes',
  'json-schema': 'yes',
  images: 'yes',
  'cached-tokens': 'yes',
  'context-error': 'skipped',
  cancel: 'yes',
};
const WITH_ROLES = { 'system-messages': 'yes', 'same-role': 'yes', 'developer-role': 'yes', 'parallel-tool-calls': 'yes' };

test.each<[Kind, own: Record<string, string>, found: Partial<UpstreamCapabilities>]>([
  [
    'openai-chat',
    {
      ...WITH_ROLES,
      'usage-unasked': 'no',
      stop: 'yes',
      seed: 'yes',
      penalties: 'yes',
      'max-tokens-field': 'yes',
      reasoning: 'no',
      'reasoning-effort': 'unclear',
      'reasoning-switch': 'skipped',
      'cache-key': 'unclear',
      embeddings: 'no',
      'json-object': 'yes',
    },
    {},
  ],
  [
    'openai-responses',
    { ...WITH_ROLES, reasoning: 'no', 'reasoning-summary': 'unclear', 'reasoning-switch': 'skipped', 'json-object': 'yes' },
    {},
  ],
  // Only sent as an instruction here, which the simulator ignores.
  ['anthropic-messages', { stop: 'yes', reasoning: 'no', 'json-object': 'no' }, {}],
  ['bedrock-converse', { stop: 'yes', reasoning: 'no', 'json-object': 'no' }, {}],
  [
    'gemini',
    {
      ...{ stop: 'yes', seed: 'yes', penalties: 'yes', reasoning: 'no', 'reasoning-summary': 'unclear', 'json-object': 'yes' },
      ...{ 'reasoning-effort': 'unclear', 'reasoning-switch': 'skipped' },
    },
    {},
  ],
])('%s: finds every ability', async (kind, own, found) => {
  const { verdicts, end, ...outcome } = await findOutInTime(kind, { defaults: PACED, model: 'sim-vision' });
  expect(verdicts).toEqual({ ...EVERYWHERE, ...own });
  expect(outcome.found).toEqual(found);
  expect({ ...end, capabilities: undefined, changes: undefined }).toEqual({
    type: 'test-end',
    servesText: true,
    firstContentMs: expect.any(Number),
    tokensPerSecond: expect.any(Number),
    requests: expect.any(Number),
    promptTokens: expect.any(Number),
    outputTokens: expect.any(Number),
    embeddings: [],
    modelFacts: { input: ['text', 'image'], reasoning: false, contextTokens: 131_072 },
  });
  expect(end.requests).toBeLessThan(40);
  expect(end.outputTokens).toBeLessThan(2_000);
});

test.each<[Kind, field: string, found: Partial<UpstreamCapabilities>]>([
  ['openai-chat', 'reasoning_content', { reasoningEffort: true, reasoningSwitch: 'chat_template_kwargs' }],
  ['openai-responses', 'reasoning_text', { reasoningSummary: true, reasoningSwitch: 'reasoning_effort' }],
  ['anthropic-messages', 'thinking', {}],
  ['bedrock-converse', 'reasoningContent', {}],
  ['gemini', 'thought', { reasoningSummary: true, reasoningEffort: true, reasoningSwitch: 'thinking' }],
])('%s: finds reasoning and its field', async (kind, field, found) => {
  const { evidence, end, ...outcome } = await findOut(kind, { model: 'sim-reason' });
  expect(evidence.reasoning).toBe(`in ${field}`);
  expect(outcome.found).toMatchObject(found);
  expect(end.modelFacts.reasoning).toBe(true);
});

test('keeps the key of caches that the catalog has', async () => {
  const { verdicts, found } = await findOut('openai-chat', { defaults: 'cache', catalog: { cacheKey: 'cache_salt' } });
  expect({ verdict: verdicts['cache-key'], found }).toEqual({ verdict: 'yes', found: {} });
});

test('finds the switch of reasoning that the server obeys', async () => {
  const { found } = await findOut('openai-chat', { model: 'sim-reason', defaults: 'ignore=chat_template_kwargs' });
  expect(found).toEqual({ reasoningEffort: true, reasoningSwitch: 'thinking' });
});

test.each(KINDS)('%s: recognizes the refusal of a long prompt, at no cost if the upstream reports its context', async (kind) => {
  const { evidence } = await findOut(kind, { model: 'sim-tiny' });
  expect(evidence['context-error']).toBe('refused with 400, in known words');
});

test('tries a large context on request', async () => {
  const { evidence } = await findOut('openai-chat', { contextTokens: 131_072 });
  expect(evidence['context-error']).toBe('refused with 400, in known words');
});

/** A server without an ability, the verdicts, and the suggested capabilities. */
test.each<[Kind, defaults: string, verdicts: Record<string, string>, found: Partial<UpstreamCapabilities>]>([
  ['openai-chat', 'refuse=stream_options', { stream: 'yes', 'usage-stream': 'no' }, { streamOptions: false }],
  ['openai-chat', 'refuse=stream_options usage=finish', { 'usage-unasked': 'yes' }, { streamOptions: false }],
  ['openai-chat', 'nousage', { 'usage-plain': 'no', 'usage-stream': 'no' }, {}],
  ['openai-chat', 'refuse=plain', { plain: 'yes', stream: 'yes' }, { streamPlainRequests: true }],
  ['openai-chat', 'refuse=max_tokens', { plain: 'yes', 'max-tokens-field': 'no' }, { maxTokensField: 'max_completion_tokens' }],
  [
    'openai-chat',
    'ignore=max_tokens tokens=200',
    { 'output-cap': 'no', 'max-tokens-field': 'no' },
    { maxTokensField: 'max_completion_tokens' },
  ],
  ['openai-chat', 'refuse=max_completion_tokens', { 'output-cap': 'yes', 'max-tokens-field': 'no' }, {}],
  ['openai-chat', 'refuse=late-system', { 'system-messages': 'no' }, { systemMessages: 'first' }],
  ['openai-chat', 'refuse=system', { 'system-messages': 'no' }, { systemMessages: 'none' }],
  ['openai-responses', 'refuse=late-system', { 'system-messages': 'no' }, { systemMessages: 'first' }],
  ['openai-chat', 'refuse=same-role', { 'same-role': 'no' }, { alternatingRoles: true }],
  ['openai-responses', 'refuse=same-role', { 'same-role': 'no' }, { alternatingRoles: true }],
  ['openai-chat', 'refuse=developer', { 'developer-role': 'no' }, {}],
  ['openai-chat', 'refuse=long-call-ids', { 'tool-results': 'yes' }, { nineCharacterCallIds: true }],
  ['openai-chat', 'refuse=no-echo', { 'tool-results': 'yes' }, { reasoningEcho: true }],
  ['openai-chat', 'refuse=tools', { tools: 'no', 'tools-stream': 'skipped', 'tool-choice': 'skipped', 'tool-results': 'skipped' }, {}],
  ['openai-responses', 'refuse=tools', { tools: 'no', 'strict-tools': 'skipped' }, {}],
  ['anthropic-messages', 'refuse=tools', { tools: 'no', 'tools-parallel': 'skipped' }, {}],
  ['openai-chat', 'ignore=tools,tool_choice', { tools: 'no', 'tools-stream': 'no', 'tools-parallel': 'no', 'tool-choice': 'no' }, {}],
  ['openai-chat', 'refuse=tool_choice', { tools: 'yes', 'tool-choice': 'no', 'tool-choice-none': 'no' }, { toolChoice: 'auto' }],
  ['openai-chat', 'refuse=forced-choice', { 'tool-choice': 'no', 'tool-choice-none': 'yes' }, { toolChoice: 'none' }],
  ['openai-responses', 'refuse=forced-choice', { 'tool-choice': 'no', 'tool-choice-none': 'yes' }, { toolChoice: 'none' }],
  ['anthropic-messages', 'refuse=forced-choice', { 'tool-choice': 'no', 'tool-choice-none': 'yes' }, { toolChoice: 'none' }],
  ['openai-chat', 'ignore=tool_choice', { tools: 'yes', 'tool-choice': 'no', 'tool-choice-none': 'no' }, { toolChoice: 'auto' }],
  ['openai-chat', 'refuse=temperature,top_p', { temperature: 'no', 'top-p': 'no' }, { temperature: false, topP: false }],
  ['openai-responses', 'refuse=temperature', { temperature: 'no', 'top-p': 'yes' }, { temperature: false }],
  ['anthropic-messages', 'refuse=top_p', { temperature: 'yes', 'top-p': 'no' }, { topP: false }],
  ['openai-responses', 'refuse=max_output_tokens', { plain: 'yes', 'output-cap': 'no' }, { outputCap: false }],
  ['openai-chat', 'refuse=max_tokens,max_completion_tokens', { 'output-cap': 'no', 'max-tokens-field': 'skipped' }, { outputCap: false }],
  ['openai-responses', 'refuse=no-instructions', { plain: 'yes' }, { instructions: true }],
  [
    'openai-responses',
    'refuse=max_output_tokens,no-instructions,plain',
    { plain: 'yes', stream: 'yes' },
    { outputCap: false, instructions: true, streamPlainRequests: true },
  ],
  ['openai-responses', 'refuse=no-instructions,plain', { plain: 'yes' }, { instructions: true, streamPlainRequests: true }],
  ['openai-chat', 'refuse=parallel_tool_calls', { 'tools-parallel': 'yes', 'parallel-tool-calls': 'no' }, { parallelToolCalls: false }],
  ['openai-chat', 'ignore=parallel_tool_calls', { 'tools-parallel': 'yes', 'parallel-tool-calls': 'no' }, {}],
  ['openai-chat', 'refuse=strict-tools', { tools: 'yes', 'strict-tools': 'no' }, { strictTools: false }],
  ['anthropic-messages', 'refuse=strict-tools', { tools: 'yes', 'strict-tools': 'no' }, { strictTools: false }],
  ['openai-chat', 'refuse=json-schema', { 'json-object': 'yes', 'json-schema': 'no' }, { jsonSchema: false }],
  ['openai-chat', 'ignore=response_format', { 'json-object': 'no', 'json-schema': 'no' }, { jsonSchema: false }],
  ['openai-responses', 'refuse=json-schema', { 'json-schema': 'no' }, { jsonSchema: false }],
  ['anthropic-messages', 'refuse=output_config', { 'json-schema': 'no' }, { jsonSchema: false }],
  ['openai-chat', 'refuse=stop', { stop: 'no' }, { stop: false }],
  ['openai-chat', 'ignore=stop', { stop: 'no' }, { stop: false }],
  ['anthropic-messages', 'ignore=stop', { stop: 'no' }, { stop: false }],
  ['openai-chat', 'refuse=seed,presence_penalty', { seed: 'no', penalties: 'no' }, { seed: false, penalties: false }],
  ['openai-chat', 'refuse=reasoning_effort', { 'reasoning-effort': 'no' }, {}],
  ['openai-responses', 'refuse=reasoning', { 'reasoning-summary': 'no' }, {}],
  ['openai-responses', 'refuse=prompt-cache-key', { plain: 'yes' }, { cacheKey: 'none' }],
  ['openai-chat', 'cache', { 'cached-tokens': 'yes', 'cache-key': 'yes' }, { cacheKey: 'cache_salt' }],
  ['openai-chat', 'cache refuse=cache-salt', { 'cached-tokens': 'yes', 'cache-key': 'yes' }, { cacheKey: 'prompt_cache_key' }],
  ['openai-chat', 'cache refuse=cache-salt,prompt-cache-key', { 'cached-tokens': 'yes', 'cache-key': 'no' }, {}],
  ['anthropic-messages', 'cache', { 'cached-tokens': 'yes' }, {}],
  ['anthropic-messages', 'refuse=cache-control', { plain: 'yes', 'cached-tokens': 'no' }, { promptCache: 'off' }],
  ['bedrock-converse', 'cache', { 'cached-tokens': 'yes' }, {}],
  ['bedrock-converse', 'refuse=cache-control', { plain: 'yes', 'cached-tokens': 'no' }, { promptCache: 'off' }],
  ['bedrock-converse', 'refuse=maxTokens,topP', { 'output-cap': 'no', 'top-p': 'no' }, { outputCap: false, topP: false }],
  ['bedrock-converse', 'refuse=outputConfig', { 'json-schema': 'no' }, { jsonSchema: false }],
  ['gemini', 'refuse=no-signature', { 'tool-results': 'yes' }, { reasoningEcho: true }],
  ['gemini', 'refuse=presencePenalty,topP', { penalties: 'no', 'top-p': 'no' }, { penalties: false, topP: false }],
  ['gemini', 'refuse=json-schema', { 'json-schema': 'no' }, { jsonSchema: false }],
  ['gemini', 'refuse=forced-choice', { 'tool-choice': 'no', 'tool-choice-none': 'yes' }, { toolChoice: 'none' }],
  ['gemini', 'cache', { 'cached-tokens': 'yes' }, {}],
  ['openai-chat', 'refuse=images', { images: 'no' }, {}],
  ['openai-chat', 'ignore=images', { images: 'unclear' }, {}],
  ['openai-chat', 'say="<think>Well</think>Yes."', { reasoning: 'yes' }, { thinkTags: true, reasoningEffort: true, jsonSchema: false }],
  ['openai-chat', 'say="Well</think>Yes."', { reasoning: 'yes' }, { beginsInReasoning: true, reasoningEffort: true, jsonSchema: false }],
])('%s, %s: %j', async (kind, defaults, verdicts, changes) => {
  const { found, verdicts: all, end } = await findOut(kind, { defaults });
  expect(all).toMatchObject(verdicts);
  expect(end.servesText).toBe(true);
  expect(found).toEqual(changes);
});

test('reports only differences from the catalog', async () => {
  const catalog = { streamOptions: false, seed: false, developerRole: true };
  const { found } = await findOut('openai-chat', { defaults: 'refuse=stream_options,developer', catalog });
  expect(found).toEqual({ seed: true, developerRole: false });
});
