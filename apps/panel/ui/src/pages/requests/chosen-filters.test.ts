import { describeChosen } from './chosen-filters.js';

test('each filter of the dialog is described, with the change that takes it away', () => {
  expect(describeChosen({ user: 'ada', tag: 'team=search', costMin: '0.01', costMax: '2', tookMax: '5' })).toEqual([
    { text: 'User ada', without: { user: undefined } },
    { text: 'Tag team=search', without: { tag: undefined } },
    { text: 'Cost $0.01 to $2', without: { costMin: undefined, costMax: undefined } },
    { text: 'Took up to 5 s', without: { tookMin: undefined, tookMax: undefined } },
  ]);
  expect(describeChosen({ costMin: '1', tookMin: '2' }).map(({ text }) => text)).toEqual(['Cost from $1', 'Took from 2 s']);
  expect(describeChosen({ model: 'sim-fast' })).toEqual([]);
});
