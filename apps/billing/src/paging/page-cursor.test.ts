import { isId, isMoment, isText, parseCursor, renderCursor } from './page-cursor.js';

const QUESTION = { accountId: 'a', kinds: ['topup'] };
const AFTER = ['2026-11-21T12:00:00.123456Z', '0190a6f0-7c1e-7000-8000-000000000001', 'sim-fast'];
const FORMS = [isMoment, isId, isText];
const refusal = expect.objectContaining({ code: 'invalid_request', param: 'cursor' });

test('a cursor parses to the values it was rendered from', () => {
  expect(parseCursor(QUESTION, renderCursor(QUESTION, AFTER), FORMS)).toEqual(AFTER);
});

test('a cursor of another query is refused', () => {
  expect(() => parseCursor({ ...QUESTION, accountId: 'b' }, renderCursor(QUESTION, AFTER), FORMS)).toThrow(refusal);
});

test.each([
  ['nothing', ''],
  ['no JSON', 'nonsense'],
  ['no list', Buffer.from('{}').toString('base64url')],
  ['another type', Buffer.from('["x",7,8,9]').toString('base64url')],
  ['too little', renderCursor(QUESTION, AFTER.slice(1))],
  ['a moment that never was', renderCursor(QUESTION, ['2026-13-21T12:00:00.123456Z', ...AFTER.slice(1)])],
  ['no id', renderCursor(QUESTION, AFTER.with(1, 'x'))],
  ['text that no database stores', renderCursor(QUESTION, AFTER.with(2, 'a\0b'))],
])('an invalid cursor is refused: %s', (_, cursor) => {
  expect(() => parseCursor(QUESTION, cursor, FORMS)).toThrow(refusal);
});
