import { safeCallId } from './call-ids.js';

test.each(['call_8f1c', 'toolu_01A-b', 'chatcmpl-tool-3', '9', 'x'.repeat(256)])('a safe id stays as it is: %s [M-13]', (id) => {
  expect(safeCallId(id)).toBe(id);
});

test.each(['functions.read_file:0', 'call 1', 'ид', '', 'x'.repeat(257), '\ud83d'])('any other id becomes a safe one: %j [M-13]', (id) => {
  expect(safeCallId(id)).toMatch(/^toolu_[0-9a-f]{24}$/);
});

test('an id always gives the same result, two ids give two results, and a result is kept [M-13, T-15]', () => {
  const ids = ['functions.f:0', 'functions.f:1', 'functions.g:0'].map(safeCallId);
  expect(['functions.f:0', 'functions.f:1', 'functions.g:0'].map(safeCallId)).toEqual(ids);
  expect(new Set(ids).size).toBe(3);
  expect(ids.map(safeCallId)).toEqual(ids);
});
