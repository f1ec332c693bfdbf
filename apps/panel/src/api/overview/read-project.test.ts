import { budgetList } from '#contracts/billing/budgets.js';
import { keyList } from '#contracts/billing/keys.js';
import { type UsageQueryRequest, usageQuery } from '#contracts/billing/usage.js';
import { FakeMessaging } from '#testing/fake-messaging.js';
import { Services } from '../../services/services.js';
import type { Budget, KeyRow, Project } from '../../shapes/billing.js';
import type { ListedRequest } from '../../shapes/requests.js';
import type { RequestQuery } from '../requests/request-query.js';
import { readProject } from './read-project.js';

const NOW = new Date('2027-03-05T10:00:00.000Z');
const project = { projectId: 'p', accountId: 'a', name: 'web' } as Project;
const keys = [{ keyId: 'k2', rootKeyId: 'k1', projectId: 'p' }] as KeyRow[];
const budgets = [
  { budgetId: 'account', projectId: null, keyId: null },
  { budgetId: 'own', projectId: 'p', keyId: null },
  { budgetId: 'of its key', projectId: 'p', keyId: 'k1' },
  { budgetId: 'of another key', projectId: 'other', keyId: 'k9' },
] as Budget[];
const requests = Array.from({ length: 12 }, (_, at) => ({ requestId: `req_${at}` })) as ListedRequest[];
const sums = (requestCount: number, costPicoUsd: string) => ({
  ...{ requests: requestCount, estimatedRequests: 0, promptTokens: 1, cachedTokens: 0, outputTokens: 1, reasoningTokens: 0 },
  ...{ costPicoUsd, forfeitedPicoUsd: '0' },
});
const days = [
  { start: '2027-03-01T00:00:00.000Z', ...sums(2, '5') },
  { start: '2027-03-05T00:00:00.000Z', ...sums(1, '7') },
];

test('a project has its month, its own budgets, its keys and its last requests', async () => {
  const messaging = new FakeMessaging();
  const asked: UsageQueryRequest[] = [];
  messaging.answer(usageQuery, (question) => {
    asked.push(question);
    const [group] = question.groupBy ?? [];
    const grouped = [
      { [`${group}Id`]: 'cheap', ...sums(1, '1') },
      { [`${group}Id`]: 'dear', ...sums(1, '2') },
    ];
    return { from: question.from, to: '', rows: question.step ? days : grouped, nextCursor: null } as never;
  });
  messaging.answer(budgetList, () => ({ budgets }));
  messaging.answer(keyList, () => ({ keys, nextCursor: 'more' }));
  const queries: RequestQuery[] = [];
  const reading = {
    requests: async (query: RequestQuery) => {
      queries.push(query);
      return requests;
    },
    members: async () => [],
  };
  const details = await readProject(new Services(messaging), project, reading, NOW);
  expect(queries).toEqual([{ accountId: 'a', projectId: 'p', from: '2027-02-26T10:00:00.000Z', limit: 10 }]);
  const range = { accountId: 'a', projectId: 'p', from: '2027-03-01', to: NOW.toISOString(), limit: 1_000, cursor: undefined };
  expect(asked).toEqual([
    { ...range, step: 'day' },
    { ...range, groupBy: ['model'] },
    { ...range, groupBy: ['key'] },
  ]);
  expect(details).toEqual({
    project,
    today: sums(1, '7'),
    month: { ...sums(3, '12'), promptTokens: 2, outputTokens: 2 },
    series: days,
    byModel: [
      { modelId: 'dear', ...sums(1, '2') },
      { modelId: 'cheap', ...sums(1, '1') },
    ],
    byKey: [
      { keyId: 'dear', ...sums(1, '2') },
      { keyId: 'cheap', ...sums(1, '1') },
    ],
    budgets: [budgets[1], budgets[2]],
    keys,
    hasMoreKeys: true,
    requests: requests.slice(0, 10),
    members: [],
  });
});

test('a caller without the permissions gets neither requests nor people, as null', async () => {
  const messaging = new FakeMessaging();
  messaging.answer(usageQuery, ({ from }) => ({ from, to: '', rows: [], nextCursor: null }));
  messaging.answer(budgetList, () => ({ budgets: [] }));
  messaging.answer(keyList, () => ({ keys: [], nextCursor: null }));
  const reading = { requests: async () => null, members: async () => null };
  const { requests: shown, members } = await readProject(new Services(messaging), project, reading, NOW);
  expect({ shown, members }).toEqual({ shown: null, members: null });
});
