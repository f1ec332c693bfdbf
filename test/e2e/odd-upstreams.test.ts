import type { Upstream, UpstreamCapabilities } from '#contracts/catalog.js';
import type { StreamEvent } from '#inference/stream-event.js';
import { CAPABILITIES } from '../../apps/inference-proxy/test/conformance.js';
import { PATIENT, TestCalls, upstreamAt } from '../../apps/inference-proxy/test/upstream-calls.js';
import { foldEvents } from '../../apps/inference-proxy/test/upstream-writer.js';
import { type SimServer, startSimServer } from '../../apps/upstream-sim/src/sim-server.js';

/** Users rehearse the oddities of real servers with the simulator. Its directives here are those that Tollgate takes in its stride. */

const KINDS = ['openai-chat', 'openai-responses', 'anthropic-messages'] as const;
type Kind = Upstream['kind'];

const TOOL = { key: { name: 'run' }, wireName: 'run', kind: 'function' as const, parameters: { type: 'object' } };
const ASKED = 'Please call run {"command": "ls -l", "in": "/tmp"} and call run {"command": "pwd"}';
const USUAL = 'reasoning=9 tokens=12';

let sim: SimServer;
beforeAll(async () => {
  sim = await startSimServer({ host: '127.0.0.1', port: 0 });
});
afterAll(() => sim.close());

/** Returns the events of a reply by a simulator with these directives. */
async function ask(
  kind: Kind,
  stream: boolean,
  directives: string,
  capabilities: Partial<UpstreamCapabilities> = {},
): Promise<StreamEvent[]> {
  await fetch(`${sim.url}/sim/defaults`, { method: 'PUT', body: directives });
  const timeouts = { ...PATIENT, finishMs: 50 };
  const calls = new TestCalls(
    upstreamAt(`${sim.url}/v1`, { kind, timeouts, capabilities: { ...CAPABILITIES, ...capabilities } }),
    'sim-fast',
  );
  const turns = [{ role: 'user' as const, parts: [{ type: 'text' as const, text: ASKED }] }];
  const events = await calls.collect({ request: { turns, tools: [TOOL], stream }, outputTokensMax: 1_000 });
  await calls.close();
  return events;
}

/** Returns the reply with the values of its calls: a dialect that has them as objects may write them anew. */
function collectPieces(events: readonly StreamEvent[]) {
  const { calls, ...said } = foldEvents(events);
  return { ...said, calls: calls.map(({ text, ...call }) => ({ ...call, made: JSON.parse(text) as unknown })) };
}

const forms = KINDS.flatMap((kind) => [true, false].map((stream) => ({ kind, stream })));
/** Responses without their terminal event are no good replies. */
const endless = forms.filter(({ kind, stream }) => kind !== 'openai-responses' || !stream);

describe.each<[directives: string, typeof forms]>([
  ['repeat', forms],
  ['arguments=twice', forms],
  ['arguments=cumulated', forms],
  ['arguments=braces', forms],
  ['arguments=encoded', forms],
  ['arguments=braces,cumulated,twice repeat interleave', forms],
  ['joined', forms],
  ['nodone', endless],
  ['open=5', forms],
  ['open=5 nodone', endless],
  ['usage=finish,total', forms],
  ['usage=zero', forms],
])('%s', (directives, all) => {
  test.each(all)('$kind, stream $stream: the reply is the usual one', async ({ kind, stream }) => {
    const usual = collectPieces(await ask(kind, stream, USUAL));
    expect(usual.calls.map(({ made }) => made)).toEqual([{ command: 'ls -l', in: '/tmp' }, { command: 'pwd' }]);
    expect(collectPieces(await ask(kind, stream, `${USUAL} ${directives}`))).toEqual(usual);
  });
});

test.each([
  ['openai-chat', true],
  ['openai-chat', false],
  ['openai-responses', true],
] as const)('cached tokens apart from the prompt: %s, stream %s', async (kind, stream) => {
  const usual = foldEvents(await ask(kind, stream, `${USUAL} cached=5`));
  expect(foldEvents(await ask(kind, stream, `${USUAL} cached=5 usage=apart`, { cachedApart: true }))).toEqual(usual);
});

test.each([
  ['tags=both', { thinkTags: true }],
  ['tags=close', { thinkTags: true, beginsInReasoning: true }],
])('%s: the reasoning stands apart from the text', async (directives, capabilities) => {
  const { text, reasoning } = foldEvents(await ask('openai-chat', true, USUAL));
  expect(foldEvents(await ask('openai-chat', true, `${USUAL} ${directives}`, capabilities))).toMatchObject({ text, reasoning });
});

test.each(forms)('separators, $kind, stream $stream: they are text', async ({ kind, stream }) => {
  expect(foldEvents(await ask(kind, stream, 'say="a b c d e" separators')).text).toBe('a\u2028b\u2029c\u0085d e');
});

test.each(forms)('finish words, $kind, stream $stream', async ({ kind, stream }) => {
  const ends: unknown[] = [];
  for (const word of ['max_tokens', 'guardrail_intervened', 'malformed_function_call']) {
    const last = (await ask(kind, stream, `tokens=3 finish=${word}`)).at(-1);
    ends.push(last?.type === 'completion-finish' ? last.reason : last?.type);
  }
  expect(ends).toEqual(['length', 'content-filter', 'completion-failure']);
});

test.each(KINDS)('an error and the end marker in one event, %s: a failure after the text', async (kind) => {
  const events = await ask(kind, true, 'tokens=9 error=3 joined');
  expect(events.map(({ type }) => type)).toEqual(['text-delta', 'usage-report', 'completion-failure']);
});

test.each(forms)('a call that the model got wrong, $kind, stream $stream: no fault of the client', async ({ kind, stream }) => {
  expect(await ask(kind, stream, 'tool-use-failed')).toEqual([
    expect.objectContaining({ type: 'completion-failure', code: 'upstream_error' }),
  ]);
});
