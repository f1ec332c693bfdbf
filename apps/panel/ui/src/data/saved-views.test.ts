import { addView, findView, parseViews, removeView, VIEW_NAME_MAX, VIEWS_MAX } from './saved-views.js';

const REFUSED = { ending: 'refused', range: '7d' } as const;

test('a view is found by its filters, replaced by its name, and removed', () => {
  const views = addView(addView([], 'refused', { ending: 'failed' }), ' refused ', REFUSED);
  expect(views).toEqual([{ name: 'refused', query: '?range=7d&ending=refused' }]);
  expect(findView(views, REFUSED)).toEqual(views[0]);
  expect(findView(views, { range: '7d' })).toBeUndefined();
  expect(removeView(views, 'refused')).toEqual([]);
});

test('what was stored is read again, and what is no view is left out', () => {
  const views = addView([], 'refused', REFUSED);
  expect(parseViews(JSON.stringify(views))).toEqual(views);
  expect(parseViews(JSON.stringify([{ name: 'old', query: '?colour=red&model=a' }, { name: '' }, null, 'x']))).toEqual([
    { name: 'old', query: '?model=a' },
  ]);
  expect([parseViews(null), parseViews('{'), parseViews('{}')]).toEqual([[], [], []]);
});

test('names and their number have a limit', () => {
  let views = addView([], 'x'.repeat(100), REFUSED);
  expect(views[0]?.name).toHaveLength(VIEW_NAME_MAX);
  for (let count = 0; count < VIEWS_MAX; count++) views = addView(views, `view ${count}`, REFUSED);
  expect([views.length, views[0]?.name]).toEqual([VIEWS_MAX, 'view 0']);
});
