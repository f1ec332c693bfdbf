import { AUDITED_ACTIONS } from '#contracts/rules/audit-sentences.js';
import { groupActions } from './action-groups.js';

test('the filter offers every action of the contracts once, and each has a title', () => {
  const groups = groupActions();
  expect(groups.flatMap(({ options }) => options.map(([action]) => action)).sort()).toEqual([...AUDITED_ACTIONS].sort());
  expect(groups.map(({ title }) => title)).not.toContain('Others');
});
