import { randomUUID } from 'node:crypto';
import { parseRenew, parseSettle } from './parse-hold-requests.js';

const COUNTS = { promptTokens: 12, cachedTokens: 4, outputTokens: 9, reasoningTokens: 3 };
const SETTLE = { holdId: randomUUID(), accountId: randomUUID(), reason: 'completed', upstream: 'local' };

describe('the sources of a usage', () => {
  test.each([
    ['reported', 'reported'],
    ['reported', 'counted'],
    ['reported', 'floor'],
    ['estimated', 'reported'],
    ['estimated', 'counted'],
    ['estimated', 'floor'],
  ])('a prompt that is %s and an output that is %s are taken as they are', (promptSource, outputSource) => {
    const usage = { ...COUNTS, promptSource, outputSource };
    expect(parseSettle({ ...SETTLE, usage, settledBy: 'gateway' })).toEqual({ ...SETTLE, usage, settledBy: 'gateway' });
  });

  test.each([
    ['reported', { promptSource: 'reported', outputSource: 'reported' }],
    ['estimated', { promptSource: 'estimated', outputSource: 'counted' }],
  ])('the single source of an older service, %s, stands for both', (source, sources) => {
    const usage = { ...COUNTS, source };
    expect(parseSettle({ ...SETTLE, usage })).toEqual({ ...SETTLE, usage: { ...COUNTS, ...sources }, settledBy: undefined });
    const { holdId } = SETTLE;
    expect(parseRenew({ renewals: [{ holdId, sequence: 1, usage: usage as never }] })).toEqual({
      renewals: [{ holdId, sequence: 1, usage: { ...COUNTS, ...sources } }],
      ended: [],
    });
  });

  test('the two sources count where an older field stands beside them', () => {
    const sources = { promptSource: 'reported', outputSource: 'floor' };
    const { usage } = parseSettle({ ...SETTLE, usage: { ...COUNTS, ...sources, source: 'estimated' } });
    expect(usage).toEqual({ ...COUNTS, ...sources });
  });

  test.each([
    ['no source', {}, 'usage.promptSource'],
    ['an unknown older source', { source: 'guessed' }, 'usage.promptSource'],
    ['a name that every object has', { source: 'constructor' }, 'usage.promptSource'],
    ['an unknown prompt source', { promptSource: 'counted', outputSource: 'counted' }, 'usage.promptSource'],
    ['an unknown output source', { promptSource: 'estimated', outputSource: 'estimated' }, 'usage.outputSource'],
    ['one source alone', { promptSource: 'reported', source: 'reported' }, 'usage.outputSource'],
  ])('%s is refused', (_title, sources, param) => {
    expect(() => parseSettle({ ...SETTLE, usage: { ...COUNTS, ...sources } })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param }),
    );
  });
});

test('the former name of a reason means the new one', () => {
  expect(parseSettle({ ...SETTLE, reason: 'client-left' }).reason).toBe('client-disconnected');
});

test('a settling service that this version does not know is not recorded', () => {
  expect(parseSettle({ ...SETTLE, settledBy: 'sidecar' }).settledBy).toBeUndefined();
});
