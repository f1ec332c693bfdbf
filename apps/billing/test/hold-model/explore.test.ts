import { explore } from './explore.js';
import { ONE_REQUEST, openHoldModel, TWO_REQUESTS } from './hold-model.js';

test('every order of what can happen to one request keeps the invariants', () => {
  expect(explore(openHoldModel(), ONE_REQUEST)).toEqual({ states: 27_564, transitions: 200_116, depth: 19, complete: true, unseen: [] });
});

test('every order of what can happen to two requests for the same budget keeps the invariants', () => {
  expect(explore(openHoldModel(), TWO_REQUESTS.key)).toEqual({ states: 9_419, transitions: 69_936, depth: 21, complete: true, unseen: [] });
});
