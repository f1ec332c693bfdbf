import { randomUUID } from 'node:crypto';
import { validatePayload } from '#validation/validate-payload.js';
import { HoldRenewRequest, SettleRequest } from './holds.js';

const COUNTS = { promptTokens: 12, cachedTokens: 4, outputTokens: 9, reasoningTokens: 3 };
const SETTLE = { holdId: randomUUID(), accountId: randomUUID(), reason: 'completed', upstream: 'local' };
const settleOf = (fields: object): SettleRequest => validatePayload(SettleRequest, { ...SETTLE, ...fields });

describe('the sources of a usage', () => {
  test.each([
    ['reported', { promptSource: 'reported', outputSource: 'reported' }],
    ['estimated', { promptSource: 'estimated', outputSource: 'counted' }],
  ])('the single source of an older service, %s, sets both', (source, sources) => {
    const usage = { ...COUNTS, source };
    expect(settleOf({ usage })).toEqual({ ...SETTLE, usage: { ...COUNTS, ...sources } });
    const { holdId } = SETTLE;
    expect(validatePayload(HoldRenewRequest, { renewals: [{ holdId, sequence: 1, usage }] })).toEqual({
      renewals: [{ holdId, sequence: 1, usage: { ...COUNTS, ...sources } }],
    });
  });

  test('the two sources win over an older field beside them', () => {
    const sources = { promptSource: 'reported', outputSource: 'floor' };
    expect(settleOf({ usage: { ...COUNTS, ...sources, source: 'estimated' } }).usage).toEqual({ ...COUNTS, ...sources });
  });

  test.each([
    ['no source', {}, 'usage.promptSource'],
    ['an unknown older source', { source: 'guessed' }, 'usage.promptSource'],
    ['a name that every object has', { source: 'constructor' }, 'usage.promptSource'],
    ['an unknown prompt source', { promptSource: 'counted', outputSource: 'counted' }, 'usage.promptSource'],
    ['an unknown output source', { promptSource: 'estimated', outputSource: 'estimated' }, 'usage.outputSource'],
    ['one source alone', { promptSource: 'reported', source: 'reported' }, 'usage.outputSource'],
  ])('%s is refused', (_title, sources, param) => {
    expect(() => settleOf({ usage: { ...COUNTS, ...sources } })).toThrow(expect.objectContaining({ code: 'invalid_request', param }));
  });
});

test('the former name of a reason means the new one', () => {
  expect(settleOf({ reason: 'client-left' }).reason).toBe('client-disconnected');
});

test('an unknown settling service is not recorded', () => {
  expect(settleOf({ settledBy: 'sidecar' }).settledBy).toBeUndefined();
});

test('ids become lower case, each of a list too', () => {
  const [first, second] = [randomUUID(), randomUUID()];
  expect(settleOf({ holdId: first.toUpperCase() }).holdId).toBe(first);
  expect(validatePayload(HoldRenewRequest, { renewals: [], ended: [second.toUpperCase()] }).ended).toEqual([second]);
});
