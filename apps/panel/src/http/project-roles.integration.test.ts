import { randomUUID } from 'node:crypto';
import { accountList } from '#contracts/billing/accounts.js';
import { budgetList, budgetValues } from '#contracts/billing/budgets.js';
import { childKeyList, childKeyMint, childKeyRevoke } from '#contracts/billing/child-keys.js';
import { keyCreate, keyList, keyRevoke, keyRotate, keyUpdate } from '#contracts/billing/keys.js';
import { projectList, projectUpdate } from '#contracts/billing/projects.js';
import { requestList, requestShow } from '#contracts/billing/requests.js';
import { usageQuery } from '#contracts/billing/usage.js';
import { modelList } from '#contracts/catalog.js';
import type { Endpoint } from '#contracts/endpoint.js';
import { PanelFixture, type SignedIn } from '../../test/panel-fixture.js';
import { ROUTE_CALLERS, ROUTE_PLACES } from '../../test/route-callers.js';
import { isProjectRole } from '../permissions/permissions.js';
import { ROLES } from '../shapes/identity.js';
import { findRoute, findScope, ROUTES, type RouteName } from './routes.js';

/** Every route with every role of a project, in its own project, another project, another account and the whole account. */

/** A project with a key, a request and a budget. */
interface Team {
  accountId: string;
  projectId: string;
  keyId: string;
  requestId: string;
  budgetId: string;
}

const makeTeam = (accountId: string): Team => ({
  ...{ accountId, projectId: randomUUID(), keyId: randomUUID(), budgetId: randomUUID() },
  requestId: `req_${randomUUID().replaceAll('-', '')}`,
});
const OWN = makeTeam(randomUUID());
const NEIGHBOUR = makeTeam(OWN.accountId);
const STRANGER = makeTeam(randomUUID());
const TEAMS = [OWN, NEIGHBOUR, STRANGER];
/** The budget of a whole account. */
const OF_ACCOUNT = { budgetId: randomUUID(), projectId: null };

const NAMES = Object.keys(ROUTES) as RouteName[];
const PROJECT_ROLES = ROLES.filter(isProjectRole);

/** Nothing listens there, so that the playground reaches no gateway. */
const NO_GATEWAY = 'http://127.0.0.1:1';

/** Questions that billing got. */
let asked: [subject: string, message: object][];

const panel = await PanelFixture.open({ gatewayInternalUrl: NO_GATEWAY });
answerAsBilling();
const people = new Map<string, SignedIn>();
for (const role of PROJECT_ROLES) people.set(role, await panel.person(role, OWN.accountId, OWN.projectId));
afterAll(() => panel.close());
beforeEach(() => {
  asked = [];
});

/** Bodies and queries that the handlers accept. */
const BODIES: Partial<Record<RouteName, (team: Team) => object>> = {
  updateProject: () => ({ name: 'web' }),
  createKey: () => ({ name: 'ci' }),
  updateKey: () => ({ name: 'ci' }),
  rotateKey: () => ({ graceSeconds: 0 }),
  createChildKey: () => ({ seconds: 600 }),
  runPlayground: ({ projectId }) => ({ projectId, request: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] } }),
};
const FROM = new Date(Date.now() - 3_600_000).toISOString();

/** Sends a request about a team as a person of `OWN`; `question` names the project or not. Returns the status. */
async function call(name: RouteName, role: string, team: Team, question: 'project' | 'account' = 'project'): Promise<number> {
  const { method, path } = findRoute(name);
  const ids: Record<string, string> = { ...team, month: '2027-01', childId: '1798761600-9f86d081884c7d65' };
  const filled = path.replace(/:(\w+)/g, (_, id: string) => ids[id] ?? randomUUID());
  const query = new URLSearchParams({
    ...(findScope(findRoute(name)) === 'any' && { accountId: team.accountId }),
    ...(question === 'project' && { projectId: team.projectId }),
    ...(/usage|traffic|overview/.test(path) && { from: FROM }),
  });
  const { cookie } = people.get(role) as SignedIn;
  const body = method === 'GET' ? undefined : (BODIES[name]?.(team) ?? {});
  return (await panel.send(`${filled}?${query}`, { method, cookie, body })).status;
}

/** Statuses that the decision on the route asks for. */
function expected(name: RouteName, role: string): Record<string, number> {
  const route = findRoute(name);
  const callers = ROUTE_CALLERS[name];
  const done = name === 'runPlayground' ? 503 : (route.status ?? 200);
  const ofPath = route.path.includes(':accountId');
  if (!callers.includes(role as never)) {
    const isFound = route.path.includes(':accountId') ? 404 : 403;
    return { own: 403, neighbour: 403, stranger: isFound, account: 403 };
  }
  switch (ROUTE_PLACES[name]) {
    case 'row':
      return { own: done, neighbour: 404, stranger: 404, account: done };
    case 'question':
      return { own: done, neighbour: 404, stranger: 404, account: 403 };
    case 'own':
      return { own: done, neighbour: done, stranger: ofPath ? 404 : done, account: done };
    case 'apart':
      return { own: done, neighbour: done, stranger: done, account: done };
    case 'beyond':
      throw new Error(`${name} is beyond a project, but ${role} may call it`);
  }
}

const DECIDED = NAMES.filter((name) => Array.isArray(ROUTE_CALLERS[name]));

test('routes beyond a project are those that no role of a project may call', () => {
  const callable = NAMES.filter((name) => PROJECT_ROLES.some((role) => ROUTE_CALLERS[name].includes(role)));
  expect(NAMES.filter((name) => ROUTE_PLACES[name] !== 'beyond' && DECIDED.includes(name))).toEqual(callable);
});

test('questions are the routes that take the project from the query', () => {
  expect(NAMES.filter((name) => ROUTE_PLACES[name] === 'question')).toEqual(
    NAMES.filter((name) => findScope(findRoute(name)) === 'project'),
  );
});

describe.each(PROJECT_ROLES)('%s', (role) => {
  test.each(DECIDED)('%s has the status of its decision in each place', async (name) => {
    const statuses = {
      own: await call(name, role, OWN),
      neighbour: await call(name, role, NEIGHBOUR),
      stranger: await call(name, role, STRANGER),
      account: await call(name, role, OWN, 'account'),
    };
    expect(statuses).toEqual(expected(name, role));
  });
});

test.each(NAMES.filter((name) => ROUTE_PLACES[name] === 'question'))('%s asks billing for nothing but the project', async (name) => {
  await call(name, 'project-viewer', OWN);
  // Billing sends all budgets of an account, and the panel those of the project: it asks for the values of no other. A file is named for the
  // account.
  const whole: string[] = [budgetList.subject, budgetValues.subject, accountList.subject];
  const questions = asked.filter(([subject]) => !whole.includes(subject)).map(([, message]) => message);
  expect(questions).toEqual(questions.map(() => expect.objectContaining({ accountId: OWN.accountId, projectId: OWN.projectId })));
});

test.each(['usage', 'requests', 'keys', 'budgets', 'traffic', 'overview'])('%s of two projects at once is refused', async (resource) => {
  const { cookie } = people.get('project-viewer') as SignedIn;
  const two = `projectId=${OWN.projectId}&projectId=${NEIGHBOUR.projectId}`;
  expect((await panel.send(`/accounts/${OWN.accountId}/${resource}?from=${FROM}&${two}`, { cookie })).status).toBe(403);
});

test.each([
  ['another project', NEIGHBOUR],
  ['the account', OF_ACCOUNT],
])('the values of a budget of %s are not found', async (_, { budgetId }) => {
  const { cookie } = people.get('project-viewer') as SignedIn;
  const { status } = await panel.send(`/accounts/${OWN.accountId}/budgets/${budgetId}/values?projectId=${OWN.projectId}`, { cookie });
  expect([status, asked.map(([subject]) => subject)]).toEqual([404, [budgetList.subject]]);
});

test('lists have the own project and what belongs to it', async () => {
  const { cookie } = people.get('project-viewer') as SignedIn;
  const read = async (path: string): Promise<unknown> => (await panel.send(path, { cookie })).body;
  const { accountId, projectId } = OWN;
  expect({
    accounts: await read('/accounts'),
    projects: await read(`/accounts/${accountId}/projects`),
    budgets: await read(`/accounts/${accountId}/budgets?projectId=${projectId}`),
  }).toEqual({
    accounts: { accounts: [], projects: [{ projectId, name: `project ${projectId}`, accountId, accountName: 'Acme' }], nextCursor: null },
    projects: { projects: [project(OWN)], nextCursor: null },
    budgets: { budgets: [{ budgetId: OWN.budgetId, projectId }] },
  });
});

test('the overview of a project has no balance and no warning of the account', async () => {
  const { cookie } = people.get('project-viewer') as SignedIn;
  const { body } = await panel.send(`/accounts/${OWN.accountId}/overview?projectId=${OWN.projectId}`, { cookie });
  const { balance, warnings, budgets, processServices } = body;
  const budget = { budgetId: OWN.budgetId, projectId: OWN.projectId };
  expect({ balance, warnings, budgets, processServices }).toEqual({
    balance: null,
    warnings: [{ kind: 'budget-empty', budget }],
    budgets: [budget],
    processServices: null,
  });
});

function project({ projectId, accountId }: Team) {
  return { projectId, accountId, name: `project ${projectId}`, enabled: true, createdAt: '2027-01-01T00:00:00.000Z' };
}

function answerAsBilling(): void {
  const answer = <Request extends object>(endpoint: Endpoint<Request, never>, reply: (message: Request & Partial<Team>) => unknown): void =>
    panel.messaging.answer(endpoint, (message) => {
      asked.push([endpoint.subject, message]);
      return reply(message) as never;
    });
  const find = (wanted: Partial<Team>): Team[] =>
    TEAMS.filter((team) => Object.entries(wanted).every(([field, value]) => !(field in team) || team[field as keyof Team] === value));
  answer(accountList as never, ({ accountId }) => ({
    accounts: [{ accountId, name: 'Acme', createdAt: '2026-01-01T00:00:00.000Z' }],
    nextCursor: null,
  }));
  answer(projectList as never, (wanted) => ({ projects: find(wanted).map(project), nextCursor: null }));
  answer(projectUpdate as never, (wanted) => find(wanted).map(project)[0]);
  answer(keyList as never, (wanted) => ({ keys: find(wanted).map((team) => ({ ...team, expiresAt: null })), nextCursor: null }));
  for (const endpoint of [keyCreate, keyUpdate, keyRotate, keyRevoke, childKeyMint, childKeyRevoke])
    answer(endpoint as never, () => ({ key: 'tg_live_x' }));
  answer(requestShow as never, (wanted) => ({ ...find(wanted)[0], price: {} }));
  answer(requestList as never, () => ({ requests: [], nextCursor: null, searchedTo: null }));
  answer(usageQuery as never, ({ from }: { from: string }) => ({ from, to: from, rows: [], nextCursor: null }));
  answer(budgetList as never, ({ budgetId: wanted }) => ({
    budgets: [OF_ACCOUNT, ...TEAMS.map(({ budgetId, projectId }) => ({ budgetId, projectId }))].filter(
      ({ budgetId }) => wanted === undefined || budgetId === wanted,
    ),
  }));
  answer(budgetValues as never, () => ({ budget: {}, values: [], nextCursor: null }));
  answer(childKeyList as never, () => ({ childKeys: [], nextCursor: null }));
  answer(modelList as never, () => ({ models: [] }));
}
