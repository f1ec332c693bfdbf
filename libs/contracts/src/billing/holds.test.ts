import { randomUUID } from 'node:crypto';
import { validatePayload } from '#validation/validate-payload.js';
import { HoldRenewRequest, SettleRequest } from './holds.js';

const COUNTS = { promptTokens: 12, cachedTokens: 4, outputTokens: 9, reasoningTokens: 3 };
const SETTLE = { holdId: randomUUID(), accountId: randomUUID(), reason: 'completed', upstream: 'local' };
const makeSettle = (fields: object): SettleRequest => validatePayload(SettleRequest, { ...SETTLE, ...fields });

describe('the sources of a usage', () => {
  test.each([
    ['no source', {}, 'usage.promptSource'],
    ['an unknown prompt source', { promptSource: 'counted', outputSource: 'counted' }, 'usage.promptSource'],
    ['an unknown output source', { promptSource: 'estimated', outputSource: 'estimated' }, 'usage.outputSource'],
    ['one source alone', { promptSource: 'reported' }, 'usage.outputSource'],
  ])('%s is refused', (_title, sources, param) => {
    expect(() => makeSettle({ usage: { ...COUNTS, ...sources } })).toThrow(expect.objectContaining({ code: 'invalid_request', param }));
  });
});

test('an unknown settling service is not recorded', () => {
  expect(makeSettle({ settledBy: 'sidecar' }).settledBy).toBeUndefined();
});

test('ids become lower case, each of a list too', () => {
  const [first, second] = [randomUUID(), randomUUID()];
  expect(makeSettle({ holdId: first.toUpperCase() }).holdId).toBe(first);
  expect(validatePayload(HoldRenewRequest, { renewals: [], ended: [second.toUpperCase()] }).ended).toEqual([second]);
});
