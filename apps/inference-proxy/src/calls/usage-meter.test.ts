import { NO_USAGE, type Usage } from '#inference/usage.js';
import { estimatedUsage, reportedUsage } from '#testing/token-usage.js';
import { UsageMeter } from './usage-meter.js';

const CAPS = { promptTokensEstimate: 20, outputTokensMax: 1000 };
const REPORT: Usage = reportedUsage(30, 5, { cachedTokens: 10, reasoningTokens: 2 });

test('usage is zero before content, whatever was reported', () => {
  const meter = new UsageMeter(CAPS);
  meter.report(REPORT);
  expect([meter.soFar(), meter.final()]).toEqual([NO_USAGE, REPORT]);
});

test('a reply that its upstream has counted to its end is billed without content', () => {
  const meter = new UsageMeter(CAPS);
  meter.noteCounts(REPORT, false);
  expect(meter.soFar()).toEqual(NO_USAGE);
  meter.noteCounts(REPORT, true);
  expect(meter.soFar()).toEqual(REPORT);
});

test('without a report, usage is estimated from the bytes of the text', () => {
  const meter = new UsageMeter(CAPS);
  meter.count({ type: 'reasoning-delta', text: '漢字漢字' }); // 12 bytes
  meter.count({ type: 'text-delta', text: 'abcde' });
  meter.count({ type: 'tool-call-start', index: 0, callId: 'a', tool: { name: 'x' }, kind: 'function' });
  meter.count({ type: 'tool-call-delta', index: 0, text: '{"a":1}' });
  expect(meter.soFar()).toEqual(estimatedUsage(20, 7, 3));
});

test('the last report counts unchanged [T-25]', () => {
  const meter = new UsageMeter(CAPS);
  meter.count({ type: 'text-delta', text: 'a'.repeat(400) });
  meter.report({ ...REPORT, outputTokens: 1 });
  meter.report(REPORT);
  expect(meter.final()).toEqual(REPORT);
});

test('a report without output or prompt is completed, and each count keeps its source', () => {
  const meter = new UsageMeter(CAPS);
  meter.count({ type: 'text-delta', text: 'a'.repeat(40) });
  meter.report({ ...REPORT, outputTokens: 0, reasoningTokens: 0 });
  expect(meter.final()).toEqual({ ...REPORT, outputTokens: 10, reasoningTokens: 0, outputSource: 'counted' });
  meter.report({ ...REPORT, promptTokens: 0, cachedTokens: 0 });
  expect(meter.final()).toEqual({ ...REPORT, promptTokens: 20, cachedTokens: 0, promptSource: 'estimated' });
});

test.each([
  ['the prompt alone', { outputTokens: 0 }, { outputTokens: 12, outputSource: 'counted' }],
  ['less output than an estimate', { outputTokens: 9 }, { outputTokens: 11, outputSource: 'counted' }],
  ['more output than an estimate', { outputTokens: 11 }, { outputTokens: 13, outputSource: 'counted' }],
] as const)('what an upstream has counted before its end is exact, also %s; only the rest is estimated', (_title, counted, billed) => {
  const meter = new UsageMeter(CAPS);
  meter.count({ type: 'text-delta', text: 'a'.repeat(40) });
  meter.noteCounts({ ...REPORT, reasoningTokens: 0, ...counted });
  meter.count({ type: 'text-delta', text: 'a'.repeat(8) });
  expect([meter.soFar(), meter.promptCounted]).toEqual([
    { ...REPORT, reasoningTokens: 0, ...billed },
    { promptTokens: 30, cachedTokens: 10 },
  ]);
});

test('output beyond the cap is neither billed nor shown', () => {
  const meter = new UsageMeter({ ...CAPS, outputTokensMax: 40 });
  meter.count({ type: 'text-delta', text: 'a' });
  meter.report({ ...REPORT, outputTokens: 100_000 });
  expect([meter.final(), meter.outputTokensOver]).toEqual([{ ...REPORT, outputTokens: 40 }, 99_960]);
});

test.each([
  ['is added', 500, { outputTokens: 510, reasoningTokens: 500, outputSource: 'floor' }],
  ['of 0 adds nothing', 0, { outputTokens: 10, reasoningTokens: 0, outputSource: 'counted' }],
] as const)('a floor for hidden output %s, and the source says so', (_title, floor, output) => {
  const meter = new UsageMeter(CAPS);
  meter.count({ type: 'text-delta', text: 'a'.repeat(40) });
  expect(meter.withHidden(floor)).toEqual({ promptTokens: 20, cachedTokens: 0, promptSource: 'estimated', ...output });
});

test('an estimate stays within the cap', () => {
  const meter = new UsageMeter({ ...CAPS, outputTokensMax: 3 });
  meter.count({ type: 'reasoning-delta', text: 'a'.repeat(400) });
  expect(meter.final()).toEqual(estimatedUsage(20, 3, 3));
  expect(meter.outputTokensEstimate).toBe(100);
});
