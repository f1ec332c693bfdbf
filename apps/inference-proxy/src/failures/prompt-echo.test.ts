import type { InferenceRequest } from '#inference/request.js';
import { turnsDuring } from '#testing/event-loop-turns.js';
import { growthOf, LINEAR_GROWTH_MAX, processorTime } from '#testing/growth.js';
import { asking } from '../../test/inference-fixture.js';
import { withoutEcho } from './prompt-echo.js';

const PROMPT = 'Dear doctor,\n\nmy "brother" has had a cough for 3 weeks.';

test.each<[what: string, prompt: string, words: string, kept: string]>([
  ['as it is', PROMPT, `boom at ${PROMPT} (line 3)`, 'boom at …. (line 3)'],
  ['its beginning', PROMPT, 'boom at Dear doctor, my "brot', 'boom at …'],
  ['some of its middle, twice', PROMPT, 'no: has had a cough; really: has had a cough!', 'no: …; really: …!'],
  ['in one line and in capitals', PROMPT, 'boom at DEAR DOCTOR MY BROTHER', 'boom at …'],
  ['as JSON', PROMPT, `boom at ${JSON.stringify(PROMPT)}`, 'boom at "…."'],
  [
    'as JSON in JSON',
    'a\nlist\nof\nshort\nlines',
    `boom at ${JSON.stringify(JSON.stringify('a\nlist\nof\nshort\nlines'))}`,
    'boom at "\\"…\\""',
  ],
  ['as a URL', 'a list of short words', `boom at /?q=${encodeURIComponent('a list of short words')}#a`, 'boom at /?q=…#a'],
  ['as HTML', 'a "list" of <short> words', 'boom at a &quot;list&quot; of &lt;short&gt; words', 'boom at …'],
  ['as Python writes it', 'Où est né Molière ?', 'boom at O\\u00f9 est n\\u00e9 Moli\\u00e8re', 'boom at …'],
  ['in Chinese', '我得了什么病', 'boom at 我得了什么病!', 'boom at …!'],
  ['in Chinese, escaped', '我得了什么病', 'boom at \\u6211\\u5f97\\u4e86\\u4ec0', 'boom at …'],
])('what an upstream repeats of a prompt is taken out: %s', async (_what, prompt, words, kept) => {
  expect(await withoutEcho(words, asking(prompt))).toBe(kept);
});

test('what an upstream repeats is found wherever it is in a long prompt, which is read piece by piece', async () => {
  const prompt = Array.from({ length: 5_000 }, (_, n) => (n + 46_656).toString(36)).join('');
  const kept: string[] = [];
  for (let at = 8_150; at < 8_210; at++) kept.push(await withoutEcho(`(${prompt.slice(at, at + 12)})`, asking(prompt)));
  expect(new Set(kept)).toEqual(new Set(['(…)']));
});

test('what is short, or is not in the request, stays', async () => {
  const words = '400 invalid_request_error: my "brother" (param=messages[0].content, 4096 tokens)';
  expect(await withoutEcho(words, asking(PROMPT))).toBe(words);
  expect(await withoutEcho('', asking(PROMPT))).toBe('');
});

test.each<[where: string, over: Partial<InferenceRequest>]>([
  ['instructions', { turns: [{ role: 'system', parts: [{ type: 'text', text: 'the secret words' }] }] }],
  ['earlier reasoning', { turns: [{ role: 'assistant', parts: [{ type: 'reasoning', text: 'the secret words' }] }] }],
  [
    'arguments of a call',
    {
      turns: [
        {
          role: 'assistant',
          parts: [
            { type: 'tool-call', callId: 'a', tool: { name: 't' }, wireName: 't', kind: 'custom', argumentsText: 'the secret words' },
          ],
        },
      ],
    },
  ],
  ['a result', { turns: [{ role: 'tool', results: [{ callId: 'a', parts: [{ type: 'text', text: 'the secret words' }] }] }] }],
  ['a tool', { tools: [{ key: { name: 't' }, wireName: 't', kind: 'function', description: 'the secret words' }] }],
  [
    'a schema',
    { output: { kind: 'json-schema', name: 's', schema: { type: 'object', properties: { a: { enum: ['the secret words'] } } } } },
  ],
  ['a stop sequence', { stop: ['the secret words'] }],
])('a request’s words are those in %s too', async (_where, over) => {
  expect(await withoutEcho('unfit: the secret words', asking('Hi', over))).toBe('unfit: …');
});

test('names of tools and of parameters stay: they say what is to be mended', async () => {
  const parameters = { type: 'object', additionalProperties: false, properties: { city_of_birth: { type: 'string' } } };
  const tools: InferenceRequest['tools'] = [
    { key: { name: 'get_the_weather' }, wireName: 'get_the_weather', kind: 'function', parameters },
  ];
  const words = 'additionalProperties of get_the_weather.city_of_birth';
  expect(await withoutEcho(words, asking('Hi', { tools }))).toBe(words);
});

test.each([
  ['that says one thing again and again', (length: number) => 'a'.repeat(length)],
  ['of nearly the same', (length: number) => 'aaaaaaaaaaab'.repeat(length / 12)],
])('a prompt %s costs what its length does', async (_what, write) => {
  const words = 'a'.repeat(200);
  const growth = await growthOf((length) => withoutEcho(words, asking(write(length))), 4_096);
  expect(growth).toBeLessThan(LINEAR_GROWTH_MAX);
});

test('a prompt of many short texts costs little more than one long text', async () => {
  const words = 'b'.repeat(200);
  const request = { ...asking('Hi'), stop: Array.from({ length: 2_000 }, () => 'a'.repeat(16)) };
  const long = await processorTime(() => withoutEcho(words, { ...request, stop: [request.stop.join('')] }));
  expect((await processorTime(() => withoutEcho(words, request))) / long).toBeLessThan(30);
});

test('others have their turns while a long prompt is looked through', async () => {
  expect(await turnsDuring(() => withoutEcho('b'.repeat(200), asking('a'.repeat(2_000_000))))).toBeGreaterThan(1);
});
