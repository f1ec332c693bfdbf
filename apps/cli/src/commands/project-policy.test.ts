import { readPolicy, renderPolicy } from './project-policy.js';

test.each([
  ['nothing', {}, undefined],
  ['an empty name', { policy: '' }, null],
  ['a name alone', { policy: 'secrets' }, { name: 'secrets', deadlineMs: 500, fail: 'closed', sendText: false }],
  [
    'all options',
    { policy: 'secrets', policyDeadline: 90, policyFail: 'open', policyText: true },
    { name: 'secrets', deadlineMs: 90, fail: 'open', sendText: true },
  ],
] as const)('%s', (_name, options, policy) => {
  expect(readPolicy(options)).toEqual(policy);
});

test.each([{ policyDeadline: 90 }, { policyFail: 'open' }, { policy: '', policyText: true }] as const)('%j lacks the policy', (options) => {
  expect(() => readPolicy(options)).toThrow('--policy-deadline, --policy-fail and --policy-text need --policy');
});

test('a policy is one line', () => {
  expect(renderPolicy({ name: 'secrets', deadlineMs: 90, fail: 'open', sendText: true })).toBe('secrets, 90 ms, fails open, with texts');
});
