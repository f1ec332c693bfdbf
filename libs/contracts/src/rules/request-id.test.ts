import { findRequestName, parseRequestName } from './request-id.js';

const DIGITS = '019a98a1c0de7f00a1b2c3d4e5f60718';
const UUID = '019a98a1-c0de-7f00-a1b2-c3d4e5f60718';
const BY_PREFIX = { requestId: `req_${DIGITS}`, uuid: null };
const BARE = { requestId: `req_${DIGITS}`, uuid: UUID };

test.each<[text: string, name: ReturnType<typeof parseRequestName>]>([
  [`req_${DIGITS}`, BY_PREFIX],
  [`chatcmpl-${DIGITS}`, BY_PREFIX],
  [`resp_${DIGITS}`, BY_PREFIX],
  [`msg_${DIGITS}`, BY_PREFIX],
  [DIGITS, BARE],
  [UUID, BARE],
  [` ${UUID.toUpperCase()}\n`, BARE],
  [`  req_${DIGITS} `, BY_PREFIX],
  [`req_${UUID}`, BY_PREFIX],
  ['', undefined],
  [`req_${DIGITS}0`, undefined],
  [`chatcmpl_${DIGITS}`, undefined],
  [`call_${DIGITS}`, undefined],
  ['chatcmpl-AbC123', undefined],
  [UUID.slice(0, 8), undefined],
  [`${DIGITS} ${DIGITS}`, undefined],
])('%j names a request', (text, name) => {
  expect(parseRequestName(text)).toEqual(name);
});

test.each<[text: string, found: string | undefined]>([
  [` ${UUID} `, UUID],
  [`x-request-id: req_${DIGITS}`, `req_${DIGITS}`],
  [`{"id":"chatcmpl-${DIGITS}","object":"chat.completion"}`, `chatcmpl-${DIGITS}`],
  [`429 Rate limited (req_${DIGITS.toUpperCase()})`, `req_${DIGITS.toUpperCase()}`],
  [`key ${DIGITS}`, undefined],
  [`msg_${DIGITS}0`, undefined],
  [`my_req_${DIGITS}`, undefined],
  ['', undefined],
])('finds the id in %j', (text, found) => {
  expect(findRequestName(text)).toBe(found);
});
