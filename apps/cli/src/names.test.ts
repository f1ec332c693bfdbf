import { answering } from '../test/collect-run.js';
import { readNames, shortenIds } from './names.js';

const A = '0190a6f0-7c1e-7000-8000-000000000001';
const B = '0190a6f0-7c1e-7000-8000-000000000002';
const C = '0190b000-7c1e-7000-8000-000000000003';

test('a name that several rows have is followed by what tells them apart', async () => {
  const replies: Record<string, object> = {
    'billing.v1.project.list': {
      projects: [
        { projectId: A, name: 'web' },
        { projectId: B, name: 'batch' },
        { projectId: C, name: 'web' },
      ],
      nextCursor: null,
    },
    'billing.v1.key.list': {
      keys: [
        { keyId: A, name: 'ci', lastFour: 'aaaa' },
        { keyId: B, name: 'ci', lastFour: 'bbbb' },
        { keyId: C, name: null, lastFour: 'cccc' },
      ],
      nextCursor: null,
    },
  };
  const messaging = await answering((subject) => replies[subject])();
  const names = await readNames(messaging, ['project', 'key']);
  expect([A, B, C].map((id) => names('project', id))).toEqual(['web (0190a6f0-7c1e)', 'batch', 'web (0190b000-7c1e)']);
  expect([A, B, C].map((id) => names('key', id))).toEqual(['ci (…aaaa)', 'ci (…bbbb)', '…cccc']);
  expect([names('account', A), names('key', null)]).toEqual(['0190a6f0-7c1e', null]);
});

test('ids are shortened to a start that no other has', () => {
  expect([A, C].map(shortenIds([A, C]))).toEqual(['0190a6f0', '0190b000']);
  expect([A, B].map(shortenIds([A, B]))).toEqual([A, B]);
  expect([A].map(shortenIds([A, A]))).toEqual(['0190a6f0']);
});
