import type { UpstreamCapabilities } from '#contracts/catalog.js';
import type { InferenceRequest } from '#inference/request.js';
import type { Tool } from '#inference/tool.js';
import type { Turn } from '#inference/turn.js';
import { makeCall, sent } from '../../../test/conformance.js';
import type { UpstreamCall } from '../upstream-adapter.js';
import { renderRequest } from './request.js';

type Body = Record<'system' | 'tools' | 'messages', unknown>;
type Able = Partial<UpstreamCapabilities>;

const LONG = { promptTokensEstimate: 1_024 };
const MARKED = { cache_control: { type: 'ephemeral' } };
const says = (role: 'system' | 'user' | 'assistant', text: string): Turn => ({ role, parts: [{ type: 'text', text }] });
const text = (words: unknown, more: object = {}): object => ({ type: 'text', text: words, ...more });
const tool = (name: string): Tool => ({
  key: { name },
  wireName: name,
  kind: 'function',
  description: `Does ${name}.`,
  parameters: CLOSED,
});
const CLOSED = { type: 'object', properties: {} };

const HISTORY: Turn[] = [says('system', 'Be brief.'), says('user', 'One'), says('assistant', 'Uno'), says('user', 'Two')];
const LATER: Turn[] = [...HISTORY, says('assistant', 'Dos'), says('user', 'Three')];

function renderBody(request: Partial<InferenceRequest>, able: Able = { cacheKey: 'none' }, over: Partial<UpstreamCall> = LONG): Body {
  const { system, tools, messages } = sent(renderRequest({ ...makeCall(true, request, able), ...over }, 'upstream-key'));
  return { system, tools, messages };
}

/** Returns the body without its markers. */
function unmarked(body: Body): Body {
  return JSON.parse(JSON.stringify(body, (key, value) => (key === 'cache_control' ? undefined : value)));
}

function markersIn(body: Body): number {
  return JSON.stringify(body).split('"cache_control"').length - 1;
}

test('four markers: the last tool, the system prompt and the last two user messages [cache-markers]', () => {
  expect(renderBody({ turns: LATER, tools: [tool('read'), tool('write')] })).toEqual({
    tools: [
      { name: 'read', description: 'Does read.', input_schema: CLOSED },
      { name: 'write', description: 'Does write.', input_schema: CLOSED, ...MARKED },
    ],
    system: [text('Be brief.', MARKED)],
    messages: [
      { role: 'user', content: [text('One')] },
      { role: 'assistant', content: [text('Uno')] },
      { role: 'user', content: [text('Two', MARKED)] },
      { role: 'assistant', content: [text('Dos')] },
      { role: 'user', content: [text('Three', MARKED)] },
    ],
  });
});

test.each<[string, Partial<InferenceRequest>, Able, Partial<UpstreamCall>, number]>([
  ['one turn without tools', { turns: HISTORY.slice(0, 2) }, {}, LONG, 0],
  ['one turn with tools', { turns: HISTORY.slice(0, 2), tools: [tool('read')] }, {}, LONG, 3],
  ['two turns without tools', { turns: HISTORY.slice(1) }, { cacheKey: 'none' }, LONG, 2],
  ['one turn with the beginning of its reply', { turns: HISTORY.slice(0, 3) }, {}, LONG, 0],
  ['a prompt below 1,024 tokens', { turns: LATER, tools: [tool('read')] }, {}, { promptTokensEstimate: 1_023 }, 0],
  ['an upstream with promptCache off', { turns: LATER, tools: [tool('read')] }, { promptCache: 'off' }, LONG, 0],
  [
    'tools that the upstream would not withhold',
    { turns: LATER, tools: [tool('read')], toolChoice: { kind: 'none' } },
    { toolChoice: 'auto' },
    LONG,
    3,
  ],
])('%s: %#', (_what, request, able, over, markers) => {
  expect(markersIn(renderBody(request, able, over))).toBe(markers);
});

test('an upstream that keeps prompts for an hour is asked for it', () => {
  const { system } = renderBody({ turns: HISTORY }, { promptCache: '1h', cacheKey: 'none' });
  expect(system).toEqual([text('Be brief.', { cache_control: { type: 'ephemeral', ttl: '1h' } })]);
});

test('results of tools, images and texts of a system turn in the history carry a marker too', () => {
  const call = {
    type: 'tool-call' as const,
    callId: 'c1',
    tool: { name: 'x' },
    wireName: 'x',
    kind: 'function' as const,
    argumentsText: '{}',
  };
  const { messages } = renderBody({
    turns: [
      { role: 'user', parts: [{ type: 'image', mediaType: 'image/png', base64: 'AAAA' }] },
      { role: 'assistant', parts: [call] },
      { role: 'tool', results: [{ callId: 'c1', parts: [{ type: 'text', text: 'done' }] }] },
    ],
  });
  expect(messages).toEqual([
    { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' }, ...MARKED }] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'x', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [text('done')], ...MARKED }] },
  ]);
});

test('the same history is the same bytes in each later request, but for the markers [cache-stable]', () => {
  const tools = [tool('read'), tool('write')];
  const [one, two] = [renderBody({ turns: HISTORY, tools }, {}), renderBody({ turns: LATER, tools }, {})].map(unmarked) as [Body, Body];
  const { messages } = two as { messages: unknown[] };
  expect(JSON.stringify({ ...two, messages: messages.slice(0, 3) })).toBe(JSON.stringify(one));
});

test('the last marker of a request is at the second to last one of the next [cache-stable]', () => {
  const listMarked = (body: Body): string[] =>
    (body.messages as { content: object[] }[])
      .flatMap(({ content }) => content.filter((block) => 'cache_control' in block))
      .map((block) => JSON.stringify(block));
  expect(listMarked(renderBody({ turns: LATER }))[0]).toBe(listMarked(renderBody({ turns: HISTORY }))[1]);
});

describe('the line that keeps the caches of accounts apart [cache-apart]', () => {
  const renderLine = (over: Partial<UpstreamCall>, request: Partial<InferenceRequest> = {}): unknown => {
    const { system } = renderBody({ turns: HISTORY, ...request }, {}, { ...LONG, ...over });
    return (system as { text: string }[])[0]?.text;
  };

  test('begins the first tool and the system prompt, so that it is in every prefix', () => {
    const { tools, system } = renderBody({ turns: HISTORY, tools: [tool('read'), tool('write')] }, {});
    expect({ tools, system }).toEqual({
      tools: [
        { name: 'read', description: expect.stringMatching(/^Cache: [\w-]{22}\nDoes read\.$/), input_schema: CLOSED },
        { name: 'write', description: 'Does write.', input_schema: CLOSED, ...MARKED },
      ],
      system: [text(expect.stringMatching(/^Cache: [\w-]{22}\nBe brief\.$/), MARKED)],
    });
  });

  test.each<[string, Partial<InferenceRequest>, object]>([
    [
      'without tools: begins the system prompt',
      { turns: HISTORY },
      { system: [text(expect.stringMatching(/^Cache: .{22}\nBe brief\.$/), MARKED)] },
    ],
    [
      'without tools and system prompt: is the system prompt',
      { turns: HISTORY.slice(1) },
      { system: [text(expect.stringMatching(/^Cache: .{22}$/), MARKED)] },
    ],
    ['without a system prompt: begins the tool alone', { turns: HISTORY.slice(1), tools: [tool('read')] }, { system: undefined }],
  ])('a request %s', (_what, request, expected) => {
    expect(renderBody(request, {})).toMatchObject(expected);
  });

  test('stands in a prompt without markers where the catalog names it, for upstreams that cache by themselves', () => {
    const once = { turns: HISTORY.slice(0, 2) };
    const systems = [{ cacheKey: 'text' as const }, { cacheKey: 'text' as const, promptCache: 'off' as const }, {}].map(
      (able) => renderBody(once, able).system,
    );
    const line = expect.stringMatching(/^Cache: .{22}\nBe brief\.$/);
    expect(systems).toEqual([line, line, 'Be brief.']);
  });

  test('is the same for each request of an account, and another for each account and address', () => {
    const lines = [{}, {}, { accountId: 'other' }, { baseUrl: 'http://10.9.9.9/v1' }].map((over) => renderLine(over));
    expect([new Set(lines).size, lines[0] === lines[1]]).toEqual([3, true]);
  });

  test('does not follow the key of the client, whose sessions share one prefix', () => {
    expect(renderLine({}, { cacheKey: 'session-1' })).toBe(renderLine({}));
  });

  test('does not stand in a prompt that is not cached', () => {
    expect(renderLine({ promptTokensEstimate: 10 })).toBeUndefined();
    expect(renderBody({ turns: HISTORY }, {}, { promptTokensEstimate: 10 }).system).toBe('Be brief.');
  });
});
