import type { AuditEntry } from '../../shapes/audit.js';
import { mergePages } from './audit-journals.js';

const entry = (id: string, service: AuditEntry['service']): AuditEntry => ({
  id,
  service,
  at: '2027-01-01T00:00:00.000Z',
  actor: 'user/1',
  actorName: null,
  via: null,
  ip: null,
  requestId: null,
  action: 'account.create',
  accountId: null,
  target: 'account/1',
  reason: null,
  before: null,
  after: null,
});
const billing = ['7', '4', '1'].map((id) => entry(id, 'billing'));
const catalog = ['6', '5'].map((id) => entry(id, 'catalog'));

test('entries of all journals come newest first, and the cursor is the last id', () => {
  const merged = mergePages(
    [
      { entries: billing, hasMore: false },
      { entries: catalog, hasMore: false },
    ],
    3,
  );
  expect(merged).toEqual({ entries: [billing[0], catalog[0], catalog[1]], nextCursor: '5' });
});

test('the last page has no cursor', () => {
  expect(
    mergePages(
      [
        { entries: billing, hasMore: false },
        { entries: [], hasMore: false },
      ],
      3,
    ),
  ).toEqual({ entries: billing, nextCursor: null });
});

test('a journal with more entries has a further page', () => {
  expect(mergePages([{ entries: billing, hasMore: true }], 3).nextCursor).toBe('1');
});
