import type { KeyRow } from '../../src/shapes/keys.js';
import type { TrafficStep } from '../../src/shapes/traffic.js';
import { ADMINISTRATION } from './demo-administration.js';
import { BUDGETS } from './demo-budgets.js';
import { CATALOG } from './demo-catalog.js';
import { ACCOUNTS, EVERY_REQUEST, KEYS, MODELS, makeKey, NOW, PROJECTS, rowOf } from './demo-data.js';
import { type Endpoint, ok, type Reply } from './demo-endpoint.js';
import { MONEY } from './demo-money.js';
import { activityOf, trafficOf } from './demo-traffic.js';
import { overviewOf, usageOf } from './demo-usage.js';

const DAY_MS = 86_400_000;
const SECRET = 'tg_live_8sJ2kQvY0aBzN5rTq1LxWm4cPfHd7EuG_Demo';
const isOf = (account: string | undefined, accountId: string) => account === 'all' || account === accountId;
const projectsOf = (account: string | undefined) => PROJECTS.filter(({ accountId }) => isOf(account, accountId));

const NOT_FOUND: Reply = {
  status: 404,
  body: { error: { message: 'There is no such request.', type: 'not_found_error', param: null, code: 'not_found' } },
};

const TRAFFIC: Endpoint[] = [
  ['GET', /^\/accounts$/, () => ok({ accounts: ACCOUNTS, nextCursor: null })],
  ['GET', /^\/accounts\/([^/]+)\/overview$/, ({ parts: [account = ''], query }) => ok(overviewOf(account, ...span(query)))],
  [
    'GET',
    /^\/accounts\/([^/]+)\/usage$/,
    ({ parts: [account = ''], query }) => {
      const [from, to] = span(query);
      const step = query.get('step') as 'hour' | 'day' | null;
      return ok(
        usageOf({ account, from, to, ...(step && { step }), groupBy: query.get('groupBy')?.split(',') ?? [], only: filterOf(query) }),
      );
    },
  ],
  [
    'GET',
    /^\/accounts\/([^/]+)\/traffic$/,
    ({ parts: [account = ''], query }) => {
      const [from, to] = span(query);
      const step = query.get('step') as TrafficStep | null;
      return ok(trafficOf({ account, from, to, ...(step && { step }), only: filterOf(query) }));
    },
  ],
  [
    'GET',
    /^\/accounts\/([^/]+)\/requests$/,
    ({ parts: [account], query }) => {
      const [from, to] = span(query);
      const only = filterOf(query);
      const matching = EVERY_REQUEST.filter(
        (request) =>
          isOf(account, request.accountId) &&
          only(request) &&
          (!request.settlement || Date.parse(request.settlement.settledAt) >= from) &&
          Date.parse(request.reservedAt) < to,
      ).map(rowOf);
      const start = Number(query.get('cursor') ?? 0);
      const limit = Number(query.get('limit') ?? 100);
      const isMore = start + limit < matching.length;
      return ok({ requests: matching.slice(start, start + limit), nextCursor: isMore ? `${start + limit}` : null, searchedTo: null });
    },
  ],
  [
    'GET',
    /^\/requests\/([^/]+)$/,
    ({ parts: [id] }) => {
      const request = EVERY_REQUEST.find(({ requestId }) => requestId === id);
      return request ? ok(request) : NOT_FOUND;
    },
  ],
  [
    'GET',
    /^\/requests\/([^/]+)\/activity$/,
    ({ parts: [id] }) => {
      const at = EVERY_REQUEST.findIndex(({ requestId, settlement }) => requestId === id && settlement);
      const request = EVERY_REQUEST[at];
      return ok({ activity: request ? activityOf(request, at) : null });
    },
  ],
  ['GET', /^\/accounts\/([^/]+)\/projects$/, ({ parts: [account] }) => ok({ projects: projectsOf(account), nextCursor: null })],
  [
    'GET',
    /^\/accounts\/([^/]+)\/keys$/,
    ({ parts: [account] }) =>
      ok({
        keys: KEYS.filter(({ projectId }) => projectsOf(account).some((project) => project.projectId === projectId)),
        nextCursor: null,
      }),
  ],
  [
    'POST',
    /^\/projects\/([^/]+)\/keys$/,
    ({ parts: [projectId = ''], body }) => ({
      status: 201,
      body: { ...makeKey({ ...(body as Partial<KeyRow>), projectId }), key: SECRET },
    }),
  ],
  [
    'POST',
    /^\/keys\/([^/]+)\/rotate$/,
    ({ parts: [keyId], body: { graceSeconds } }) => {
      const old = KEYS.find((key) => key.keyId === keyId) ?? makeKey({});
      const made = makeKey({ ...old, keyId: crypto.randomUUID(), lastFour: 'Demo' });
      const expiresAt = new Date(Date.now() + Number(graceSeconds) * 1_000).toISOString();
      Object.assign(old, { replacedBy: made.keyId, expiresAt });
      return { status: 201, body: { ...made, key: SECRET, replaced: old } };
    },
  ],
  ['PATCH', /^\/keys\/([^/]+)$/, ({ parts: [keyId], body }) => ok(Object.assign(KEYS.find((key) => key.keyId === keyId) ?? {}, body))],
  [
    'POST',
    /^\/playground$/,
    () => {
      const chunk = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: null }] })}`;
      const words = 'The toll is held before the gate opens, and only what was used is charged.'.split(/(?<= )/);
      const requestId = EVERY_REQUEST.find(({ settlement }) => settlement)?.requestId;
      return { status: 200, events: { texts: [...words.map(chunk), 'data: [DONE]'], requestId } };
    },
  ],
  ['GET', /^\/models$/, () => ok({ revision: 12, models: MODELS.map(modelOf) })],
];

export const REPLIES: Endpoint[] = [...TRAFFIC, ...CATALOG, ...MONEY, ...BUDGETS, ...ADMINISTRATION];

function modelOf({ id, ownedBy, contextTokens, maxOutputTokens, input, cached, output }: (typeof MODELS)[number], at: number) {
  return {
    id,
    ownedBy,
    displayName: null,
    created: Math.floor(NOW / 1_000) - at * 4_000_000,
    contextTokens,
    maxOutputTokens,
    defaultOutputTokens: 4_096,
    input: at === 2 ? ['text', 'image'] : ['text'],
    reasoning: id === 'deepseek-r1',
    tokensPerImageMax: 1_600,
    reasoningEcho: false,
    price: { version: at + 1, inputPicoUsd: `${input}`, cachedInputPicoUsd: `${cached}`, outputPicoUsd: `${output}` },
  };
}

function span(query: URLSearchParams): [from: number, to: number] {
  const to = query.get('to') ? Date.parse(query.get('to') ?? '') : NOW + DAY_MS;
  return [query.get('from') ? Date.parse(query.get('from') ?? '') : NOW - DAY_MS, to];
}

function filterOf(query: URLSearchParams) {
  return (request: (typeof EVERY_REQUEST)[number]): boolean =>
    (['projectId', 'keyId', 'model', 'upstream'] as const).every((name) => !query.get(name) || query.get(name) === request[name]) &&
    (!query.get('ending') || query.get('ending') === request.settlement?.reason);
}
