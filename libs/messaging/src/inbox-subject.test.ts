import { isInbox, newConnection, newSubject, sharesInbox } from './inbox-subject.js';

test('subjects are unpredictable', () => {
  const connection = newConnection('catalog');
  const subjects = Array.from({ length: 1_000 }, () => newSubject(connection, 'call'));
  expect(subjects.filter((subject) => !/^_INBOX\.catalog\.[0-9a-f]{24}\.c[\w-]{16}$/.test(subject))).toEqual([]);
  // Tokens have 96 random bits: no two share even the first half.
  expect(new Set(subjects.map((subject) => subject.slice(0, -8))).size).toBe(subjects.length);
});

test.each([
  ['_INBOX.internal.abc.1', true],
  ['_INBOX.internal.abc', true],
  ['catalog.v1.event.changed', false],
  ['', false],
])('%s is in an inbox: %s', (subject, expected) => {
  expect(isInbox(subject)).toBe(expected);
});

test.each([
  ['_INBOX.internal.abc.2', '_INBOX.internal.abc.1', true],
  ['_INBOX.internal.abc.2', '_INBOX.internal.abc', true],
  ['_INBOX.internal.abcd.2', '_INBOX.internal.abc.1', false],
  ['_INBOX.gateway.abc.2', '_INBOX.internal.abc.1', false],
  ['_INBOX.internal.2', '_INBOX.internal', false],
  ['billing.v1.event.key-changed', '_INBOX.internal.abc.1', false],
  ['billing.v1.event.key-changed', 'billing.v1.event.balance-low', false],
  ['_INBOX.internal.abc.2', '', false],
])('%s shares its inbox with %s: %s', (subject, other, expected) => {
  expect(sharesInbox(subject, other)).toBe(expected);
});
