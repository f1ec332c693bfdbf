import { called, failed, REPORTED, result } from '../../../test/probe-results.js';
import { type Finding, judgeFailure, type ProbeResult } from '../probe-result.js';
import { judgeCached, judgeCacheKey, judgeCancel, judgeContextError, judgeMarkers } from './limits.js';
import { judgeImage, judgeJsonObject, judgeJsonSchema } from './output.js';
import {
  judgeCap,
  judgeCapTaken,
  judgeEffort,
  judgeFields,
  judgeHint,
  judgeReasoning,
  judgeStop,
  judgeSummary,
  judgeSwitch,
  stopIn,
} from './parameters.js';
import { judgePieces, judgeStream, judgeUsage, tokensPerSecond } from './streaming.js';
import { judgeCall, judgeForced, judgeNone, judgeParallel, judgeParallelField, judgeResults, judgeStrict } from './tools.js';
import { judgeRole, judgeTaken } from './turns.js';

type Row = [name: string, finding: Finding, verdict: Finding['verdict'], evidence: string, learned?: Finding['learned']];

function expectFinding(finding: Finding, verdict: string, evidence: string, learned?: object): void {
  expect(finding).toEqual({ verdict, evidence, ...(learned && { learned }) });
}

const REFUSED = failed({});
const REFUSED_EVIDENCE = 'refused with 400: “Unknown parameter”';
const BUSY = failed({ kind: 'refused', code: 'model_capacity', status: 429, text: 'requests' });
const BUSY_EVIDENCE = 'too many requests (429): try again later';

describe('what a failure proves about the feature', () => {
  test.each<[name: string, result: ProbeResult, verdict: string, evidence: string]>([
    ['a refusal of the request', REFUSED, 'no', REFUSED_EVIDENCE],
    ['a refusal without words', failed({ status: 422, text: '' }), 'no', 'refused with 422'],
    ['a server that breaks over it', failed({ kind: 'refused', status: 500, text: 'boom now' }), 'no', 'refused with 500: “boom now”'],
    [
      'no route for it',
      failed({ kind: 'refused', code: 'model_unavailable', status: 404, text: 'no such endpoint' }),
      'no',
      'refused with 404: “no such endpoint”',
    ],
    ['nothing at all', failed({ kind: 'empty', status: undefined, text: 'no output' }), 'no', 'empty reply'],
    ['a rate limit', BUSY, 'unclear', BUSY_EVIDENCE],
    ['an overloaded server', failed({ kind: 'refused', code: 'model_unavailable', status: 503, text: '' }), 'unclear', 'refused with 503'],
    [
      'silence',
      failed({ kind: 'timeout', code: 'upstream_timeout', status: undefined, text: 'no complete reply within 60 s' }),
      'unclear',
      'no complete reply within 60 s',
    ],
    ['a broken reply', failed({ kind: 'broken', status: undefined, text: 'reply is not JSON' }), 'unclear', 'reply is not JSON'],
    ['a key that was withdrawn', failed({ kind: 'refused', status: 401, text: '' }), 'unclear', 'refused with 401'],
  ])('%s', (_name, { failure }, verdict, evidence) => {
    expect(failure && judgeFailure(failure)).toEqual({ verdict, evidence });
  });
});

describe('streams', () => {
  test.each<Row>([
    ['one with a count', judgeStream(result()), 'yes', '4 tokens, finish stop'],
    [
      'one without',
      judgeStream(result({ usage: { ...REPORTED, promptSource: 'estimated', outputSource: 'counted' } })),
      'yes',
      'finish stop',
    ],
    ['one without text', judgeStream(result({ text: '' })), 'no', 'a stream without text'],
    ['pieces', judgePieces(result({ contentAtMs: [100, 120, 160] })), 'yes', 'in 3 reads over 60 ms'],
    [
      'a burst after a while',
      judgePieces(result({ contentAtMs: [900, 901] })),
      'no',
      'all at once after 900 ms: a proxy in between buffers it',
    ],
    ['a burst at once', judgePieces(result({ contentAtMs: [12] })), 'unclear', 'all of it within 12 ms: too fast to tell'],
    ['counted', judgeUsage(result()), 'yes', '20 prompt and 4 output tokens'],
    [
      'not counted',
      judgeUsage(result({ usage: { ...REPORTED, promptSource: 'estimated', outputSource: 'counted' } })),
      'no',
      'no usage: it is estimated from the text',
    ],
    [
      'counted as nothing',
      judgeUsage(result({ usage: { ...REPORTED, outputTokens: 0 } })),
      'no',
      'usage of zero tokens: it is estimated from the text',
    ],
  ])('%s', (_name, ...row) => expectFinding(...row));

  test('tokens per second count from the first to the last content', () => {
    const usage = { ...REPORTED, outputTokens: 50 };
    expect(tokensPerSecond(result({ contentAtMs: [400, 600, 900], usage }))).toBe(100);
    expect(tokensPerSecond(result({ contentAtMs: [400, 410], usage }))).toBeNull();
    expect(tokensPerSecond(result({ contentAtMs: [], usage }))).toBeNull();
  });
});

describe('turns', () => {
  test.each<Row>([
    ['taken', judgeTaken(result()), 'yes', 'taken, finish stop'],
    ['developer besides system', judgeRole(result(), result()), 'yes', 'as well as the system role'],
    ['developer instead of system', judgeRole(result(), REFUSED), 'yes', 'and not the system role', { developerRole: true }],
    ['no developer', judgeRole(REFUSED, result()), 'no', REFUSED_EVIDENCE, { developerRole: false }],
    ['developer asked at a bad moment', judgeRole(BUSY, result()), 'unclear', BUSY_EVIDENCE],
  ])('%s', (_name, ...row) => expectFinding(...row));
});

describe('parameters', () => {
  const known = { verdict: 'yes', evidence: 'cut at 16 tokens' } as const;
  const ignored = { verdict: 'no', evidence: 'about 60 tokens where 16 are allowed' } as const;
  test.each<Row>([
    ['a stop that is heeded', judgeStop(result({ text: 'one two ' }), 'three'), 'yes', 'before the sequence, finish stop', { stop: true }],
    ['a stop that is not', judgeStop(result({ text: 'one two three four' }), 'three'), 'no', 'writes on behind it', { stop: false }],
    ['a stop that is refused', judgeStop(REFUSED, 'three'), 'no', REFUSED_EVIDENCE, { stop: false }],
    ['a stop it never came to', judgeStop(result({ finishReason: 'length' }), 'three'), 'unclear', 'cut before it came to that'],
    ['a seed', judgeHint(result(), 'seed'), 'yes', 'taken, finish stop', { seed: true }],
    ['no seed', judgeHint(REFUSED, 'seed'), 'no', REFUSED_EVIDENCE, { seed: false }],
    ['a seed at a bad moment', judgeHint(BUSY, 'seed'), 'unclear', BUSY_EVIDENCE],
    ['a cap that is kept', judgeCap(result({ finishReason: 'length' })), 'yes', 'cut at 16 tokens'],
    ['a cap that is not', judgeCap(result({ text: 'x'.repeat(240) })), 'no', 'about 60 tokens where 16 are allowed'],
    ['a cap it never came to', judgeCap(result()), 'unclear', 'it stopped by itself, finish stop'],
    ['a cap that is taken', judgeCapTaken(result({ finishReason: 'length' }), false), 'yes', 'cut at 16 tokens', { outputCap: true }],
    ['a cap that is refused', judgeCapTaken(REFUSED, false), 'no', REFUSED_EVIDENCE, { outputCap: false }],
    ['one that the dialect requires', judgeCapTaken(REFUSED, true), 'no', REFUSED_EVIDENCE],
    ['a cap at a bad moment', judgeCapTaken(BUSY, false), 'unclear', BUSY_EVIDENCE],
    ['temperature refused', judgeHint(REFUSED, 'temperature'), 'no', REFUSED_EVIDENCE, { temperature: false }],
    ['both fields', judgeFields('max_tokens', known, 'max_completion_tokens', known), 'yes', 'max_tokens and max_completion_tokens'],
    [
      'the other field alone',
      judgeFields('max_tokens', ignored, 'max_completion_tokens', known),
      'no',
      'only max_completion_tokens',
      { maxTokensField: 'max_completion_tokens' },
    ],
    [
      'this field alone',
      judgeFields('max_tokens', known, 'max_completion_tokens', ignored),
      'no',
      'max_completion_tokens: about 60 tokens where 16 are allowed',
    ],
    [
      'reasoning in a field',
      judgeReasoning(result(), 'reasoning_content'),
      'yes',
      'in reasoning_content',
      { thinkTags: false, beginsInReasoning: false },
    ],
    [
      'reasoning in tags',
      judgeReasoning(result({ text: '\n<think>Well' }), undefined),
      'yes',
      'as <think> in the text',
      { thinkTags: true, beginsInReasoning: false },
    ],
    [
      'reasoning with its closing tag alone',
      judgeReasoning(result({ text: 'Well\n</think>\nYes' }), undefined),
      'yes',
      'in the text, with </think> alone',
      { beginsInReasoning: true },
    ],
    ['an answer with both tags in it', judgeReasoning(result({ text: 'Say <think>x</think>' }), undefined), 'no', 'none was shown'],
    ['no reasoning', judgeReasoning(result(), undefined), 'no', 'none was shown'],
    ['effort of a model that reasons', judgeEffort(result(), true), 'yes', 'taken', { reasoningEffort: true }],
    [
      'effort of one that only counts it',
      judgeEffort(result({ usage: { ...REPORTED, reasoningTokens: 3 } }), false),
      'yes',
      'taken',
      { reasoningEffort: true },
    ],
    ['effort of one that does not', judgeEffort(result(), false), 'unclear', 'taken, but nothing is seen of its reasoning'],
    ['no effort', judgeEffort(REFUSED, true), 'no', REFUSED_EVIDENCE, { reasoningEffort: false }],
    [
      'the second switch',
      judgeSwitch([
        ['chat_template_kwargs', result({ reasoning: 'Well' })],
        ['thinking', result()],
      ]),
      'yes',
      'by thinking',
      { reasoningSwitch: 'thinking' },
    ],
    [
      'no switch',
      judgeSwitch([
        ['chat_template_kwargs', result({ text: '<think>Well</think>Yes.' })],
        ['thinking', result({ usage: { ...REPORTED, reasoningTokens: 5 } })],
        ['reasoning_effort', REFUSED],
      ]),
      'no',
      'it reasons with each of them',
      { reasoningSwitch: 'none' },
    ],
    ['a summary', judgeSummary(result({ reasoning: 'Well' })), 'yes', 'shown', { reasoningSummary: true }],
    ['a summary of nothing', judgeSummary(result()), 'unclear', 'taken, but none was shown'],
    ['no summary', judgeSummary(REFUSED), 'no', REFUSED_EVIDENCE, { reasoningSummary: false }],
  ])('%s', (_name, ...row) => expectFinding(...row));

  test('the stop sequence is a word from the middle of the text', () => {
    expect(stopIn('one two three four five six seven eight')).toBe('five');
    expect(stopIn('Yes.')).toBeUndefined();
    expect(stopIn('')).toBeUndefined();
  });
});

describe('tools', () => {
  const CALLED = result({ text: '', toolCalls: [called('get_weather')], finishReason: 'tool-calls' });
  const BOTH = result({ text: '', toolCalls: [called('get_weather'), called('get_time')], finishReason: 'tool-calls' });
  test.each<Row>([
    ['a call', judgeCall(CALLED), 'yes', 'get_weather with its arguments, finish tool-calls'],
    ['words', judgeCall(result()), 'no', 'answers in words (finish stop)'],
    [
      'a call with other arguments',
      judgeCall(result({ toolCalls: [called('get_weather', '{"town":1}')] })),
      'no',
      'a call whose arguments do not fit the tool',
    ],
    [
      'a call cut in the middle',
      judgeCall(result({ toolCalls: [called('get_weather', '{"city":')] })),
      'no',
      'a call whose arguments do not fit the tool',
    ],
    ['two calls', judgeParallel(BOTH), 'yes', '2 calls in one reply'],
    ['one call where two were asked for', judgeParallel(CALLED), 'no', 'one call at a time'],
    ['parallel_tool_calls heeded', judgeParallelField(CALLED), 'yes', 'taken, and one call made', { parallelToolCalls: true }],
    ['parallel_tool_calls ignored', judgeParallelField(BOTH), 'no', 'taken, and 2 calls made all the same'],
    ['parallel_tool_calls without a call', judgeParallelField(result()), 'unclear', 'not refused; it answers in words'],
    ['parallel_tool_calls refused', judgeParallelField(REFUSED), 'no', REFUSED_EVIDENCE, { parallelToolCalls: false }],
    ['the tool it must', judgeForced(CALLED, 'get_weather', true), 'yes', 'get_weather', { toolChoice: 'forced' }],
    ['another tool', judgeForced(BOTH, 'get_weather', true), 'no', 'calls another tool', { toolChoice: 'none' }],
    [
      'words where it must',
      judgeForced(result(), 'get_weather', true),
      'no',
      'answers in words although it must call a tool',
      { toolChoice: 'none' },
    ],
    ['words of one that calls none', judgeForced(result(), 'get_weather', false), 'no', 'answers in words although it must call a tool'],
    ['a forced choice refused', judgeForced(REFUSED, 'get_weather', true), 'no', REFUSED_EVIDENCE, { toolChoice: 'none' }],
    ['a forced choice at a bad moment', judgeForced(BUSY, 'get_weather', true), 'unclear', BUSY_EVIDENCE],
    ['words where it must not call', judgeNone(result(), 'none'), 'yes', 'answers in words', { toolChoice: 'none' }],
    ['words of one that obeys force', judgeNone(result(), 'forced'), 'yes', 'answers in words'],
    ['a call where it must not', judgeNone(CALLED, 'none'), 'no', 'calls one all the same', { toolChoice: 'auto' }],
    ['a call of one that obeys force', judgeNone(CALLED, 'forced'), 'no', 'calls one all the same'],
    ['none refused', judgeNone(REFUSED, 'none'), 'no', REFUSED_EVIDENCE, { toolChoice: 'auto' }],
    ['strict taken', judgeStrict(CALLED), 'yes', 'get_weather with its arguments, finish tool-calls', { strictTools: true }],
    ['strict refused', judgeStrict(REFUSED), 'no', REFUSED_EVIDENCE, { strictTools: false }],
    ['strict answered in words', judgeStrict(result()), 'no', 'answers in words (finish stop)'],
    ['a result used', judgeResults(result({ text: 'It is sunny.' })), 'yes', 'its answer has the result in it'],
    ['a result not used', judgeResults(result()), 'unclear', 'taken; its answer does not have the result in it'],
    ['the call again', judgeResults(CALLED), 'unclear', 'it calls the tool again'],
  ])('%s', (_name, ...row) => expectFinding(...row));
});

describe('output', () => {
  const ESTIMATED = { ...REPORTED, promptSource: 'estimated' as const, outputSource: 'counted' as const };
  const FITS = result({ text: '{"city":"Paris","population":2100000}' });
  test.each<Row>([
    ['an object', judgeJsonObject(FITS), 'yes', 'a JSON object'],
    ['no object', judgeJsonObject(result({ text: '```json\n{}\n```' })), 'no', 'text that is no JSON object'],
    ['half an object', judgeJsonObject(result({ text: '{', finishReason: 'length' })), 'unclear', 'cut before its end'],
    ['a schema kept to', judgeJsonSchema(FITS), 'yes', 'exactly its fields', { jsonSchema: true }],
    ['a schema not kept to', judgeJsonSchema(result({ text: '{"city":"Paris"}' })), 'no', 'taken, and not kept to', { jsonSchema: false }],
    ['a schema ignored', judgeJsonSchema(result()), 'no', 'taken, and answered with text that is no JSON object', { jsonSchema: false }],
    ['a schema refused', judgeJsonSchema(REFUSED), 'no', REFUSED_EVIDENCE, { jsonSchema: false }],
    ['an image seen', judgeImage(result({ text: 'Red.' })), 'yes', 'it knows the colour'],
    [
      'an image counted',
      judgeImage(result({ usage: { ...REPORTED, promptTokens: 269 } })),
      'yes',
      'about 256 prompt tokens for it, though the colour is not named',
    ],
    ['an image dropped', judgeImage(result()), 'unclear', 'taken, but it does not know the colour'],
    [
      'an image, nothing counted',
      judgeImage(result({ usage: { ...ESTIMATED, promptTokens: 1_700 } })),
      'unclear',
      'taken, but it does not know the colour',
    ],
    ['an image refused', judgeImage(failed({ code: 'unsupported_content' })), 'no', REFUSED_EVIDENCE],
  ])('%s', (_name, ...row) => expectFinding(...row));
});

describe('limits', () => {
  const usage = { ...REPORTED, promptTokens: 1_800 };
  /** A prompt of 1,800 tokens that the upstream counts so the second time. */
  const cachedAs = (promptTokens: number, cachedTokens: number, isApart: boolean): Finding =>
    judgeCached(result({ usage }), result({ usage: { ...usage, promptTokens, cachedTokens } }), isApart);
  const HIT = result({ usage: { ...usage, cachedTokens: 1_792 } });
  const MISS = result({ usage });
  const APART = { first: MISS, without: HIT, again: HIT };
  const LEFT = result({ finishReason: undefined });
  const OVERFLOW = failed({ code: 'context_length_exceeded' });
  test.each<Row>([
    ['cached', cachedAs(1_800, 1_792, false), 'yes', '1,792 of 1,800 prompt tokens, sent twice'],
    ['cached, and counted apart as the dialect does', cachedAs(1_800, 1_792, true), 'yes', '1,792 of 1,800 prompt tokens, sent twice'],
    ['cached, and counted apart', cachedAs(8, 8, false), 'yes', 'counted apart from the prompt', { cachedApart: true }],
    ['a part cached, and counted apart', cachedAs(1_288, 512, false), 'yes', 'counted apart from the prompt', { cachedApart: true }],
    ['cached, and counted twice', cachedAs(3_592, 1_792, true), 'yes', 'counted as a part of the prompt', { cachedApart: false }],
    ['not cached', cachedAs(1_800, 0, false), 'no', 'none of 1,800 prompt tokens, sent twice'],
    [
      'not counted',
      judgeCached(result(), result({ usage: { ...usage, promptSource: 'estimated', outputSource: 'counted' } }), false),
      'no',
      'no usage',
    ],
    ['markers refused', judgeMarkers(result()), 'no', 'cache_control is refused', { promptCache: 'off' }],
    ['the prompt refused with and without markers', judgeMarkers(REFUSED), 'unclear', 'the long prompt was not taken'],
    ['a salt', judgeCacheKey([{ field: 'cache_salt', ...APART }]), 'yes', 'by cache_salt', { cacheKey: 'cache_salt' }],
    [
      'a key where a salt is refused',
      judgeCacheKey([
        { field: 'cache_salt', first: REFUSED },
        { field: 'prompt_cache_key', ...APART },
      ]),
      'yes',
      'by prompt_cache_key',
      { cacheKey: 'prompt_cache_key' },
    ],
    [
      'fields without an effect',
      judgeCacheKey([
        { field: 'cache_salt', first: HIT },
        { field: 'prompt_cache_key', first: REFUSED },
      ]),
      'unclear',
      'taken, but it is not seen to keep them apart',
    ],
    [
      'a prompt that has left the cache meanwhile',
      judgeCacheKey([{ field: 'cache_salt', ...APART, without: MISS }]),
      'unclear',
      'taken, but it is not seen to keep them apart',
    ],
    [
      'a miss each time',
      judgeCacheKey([{ field: 'cache_salt', ...APART, again: MISS }]),
      'unclear',
      'taken, but it is not seen to keep them apart',
    ],
    ['no field', judgeCacheKey([{ field: 'cache_salt', first: REFUSED }]), 'no', 'no field for it is taken'],
    ['a context error that is known', judgeContextError(OVERFLOW), 'yes', 'refused with 400, in known words'],
    ['one in other words', judgeContextError(REFUSED), 'no', `${REFUSED_EVIDENCE}: not known as such, clients get 502`],
    [
      'a prompt that is cut',
      judgeContextError(result({ usage })),
      'no',
      'it takes the prompt, counted as 1,800 tokens: it may cut it without a word',
    ],
    ['a bad moment', judgeContextError(BUSY), 'unclear', BUSY_EVIDENCE],
    ['left and closed', judgeCancel({ ...LEFT, closedAfterMs: 2 }), 'yes', 'after 2 ms'],
    ['left and open', judgeCancel(LEFT), 'no', 'still open after 250 ms'],
    ['over before', judgeCancel(result()), 'unclear', 'the reply was over before it could be left'],
  ])('%s', (_name, ...row) => expectFinding(...row));
});
