import { parseRetryAfter } from './parse-retry-after.js';

test.each<[string, Record<string, string>, string, number | undefined]>([
  ['seconds', { 'retry-after': '7' }, '', 7],
  ['a date', { 'retry-after': 'Thu, 01 Jan 2026 00:00:30 GMT' }, '', 30],
  ['a past date', { 'retry-after': 'Thu, 01 Jan 2020 00:00:30 GMT' }, '', 1],
  ['milliseconds', { 'retry-after-ms': '2500', 'retry-after': '9' }, '', 3],
  ['a long wait', { 'retry-after': '3600' }, '', 60],
  ['x-ratelimit-reset-requests', { 'x-ratelimit-reset-requests': '1m2s' }, '', 60],
  ['x-ratelimit-reset-tokens', { 'x-ratelimit-reset-tokens': '250ms' }, '', 1],
  ['text', {}, 'Rate limit reached. Please try again in 20s.', 20],
  ['text with a fraction', {}, 'Please try again in 1.2 seconds', 2],
  ['the text "retry after"', {}, 'retry after 4 seconds', 4],
  ['nothing', {}, 'busy', undefined],
  ['nonsense', { 'retry-after': 'soon' }, '', undefined],
])('Retry-After from %s [H-4, U-23]', (_name, headers, text, seconds) => {
  expect(parseRetryAfter(headers, text, Date.UTC(2026, 0, 1))).toBe(seconds);
});
