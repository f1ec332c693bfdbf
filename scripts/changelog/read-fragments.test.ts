import { mergeFragments } from './read-fragments.ts';

const CHANGELOG = '# Changelog\n\n## Unreleased\n\nSteps.\n\n**Money**\n\n- One.\n\n## 0.1.0 – 2026-11-27\n\nOld.\n';
const fragment = (text: string) => ({ path: 'changes/a.md', text });

test('what to do comes first, and each change stands under its heading', () => {
  const merged = mergeFragments(CHANGELOG, [
    fragment('**Money**\n\n- Two,\n  in two lines.\n\n**Action required**\n\n- Do it.\n'),
    fragment('**Action required**\n- And this.\n'),
  ]);
  expect(merged).toBe(
    '# Changelog\n\n## Unreleased\n\nSteps.\n\n**Action required**\n\n- Do it.\n- And this.\n\n**Money**\n\n- One.\n- Two,\n  in two lines.\n\n' +
      '## 0.1.0 – 2026-11-27\n\nOld.\n',
  );
});

test('without a fragment the changelog is as it was, and the section may be empty or the last', () => {
  expect(mergeFragments(CHANGELOG, [])).toBe(CHANGELOG);
  expect(mergeFragments('## Unreleased\n\n## 1.0.0\n\nOld.\n', [])).toBe('## Unreleased\n\n## 1.0.0\n\nOld.\n');
  expect(mergeFragments('## Unreleased\n', [fragment('**A**\n\n- B.\n')])).toBe('## Unreleased\n\n**A**\n\n- B.\n\n');
});

test.each(['- No heading.\n', 'Text.\n**Money**\n\n- One.\n', '**Money**\n\nNo list.\n', ''])('the fragment %j is refused', (text) => {
  expect(() => mergeFragments(CHANGELOG, [fragment(text)])).toThrow('changes/a.md');
});

test('a changelog without the section is refused', () => {
  expect(() => mergeFragments('# Changelog\n', [])).toThrow('no section');
});
