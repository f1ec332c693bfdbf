import type { AuditEntry } from '../../../../src/shapes/audit.js';
import { readSentence } from './sentence-parts.js';

const ENTRY: AuditEntry = {
  ...{ id: '1', service: 'billing', at: '2027-01-01T00:00:00.000Z', actor: 'user/u', actorName: 'ada@example.com' },
  ...{ via: 'panel', ip: null, requestId: null, reason: null, before: null },
  action: 'key.create',
  accountId: 'a',
  target: 'key/k',
  after: { name: 'ci', projectId: 'p' },
};
const WORDS = { name: (kind: string) => (kind === 'project' ? 'web' : undefined), usd: String, time: String };

test('a sentence is cut at the things that it names', () => {
  expect(readSentence(ENTRY, WORDS)).toEqual([
    { text: 'made ' },
    { text: 'key ci', thing: { kind: 'key', id: 'k' } },
    { text: ' of ' },
    { text: 'project web', thing: { kind: 'project', id: 'p' } },
  ]);
});

test('a sentence without a thing is one text', () => {
  expect(readSentence({ ...ENTRY, action: 'session.end', target: 'session/s' }, WORDS)).toEqual([{ text: 'signed out' }]);
});

test('numbers of a name are no things', () => {
  const named = { ...ENTRY, after: { name: '0 1', projectId: 'p' } };
  expect(readSentence(named, WORDS).map(({ text }) => text)).toEqual(['made ', 'key 0 1', ' of ', 'project web']);
});
