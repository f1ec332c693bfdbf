import { randomUUID } from 'node:crypto';
import type { Response } from 'supertest';
import { PanelFixture, type Sent, type SignedIn } from '../../test/panel-fixture.js';
import { CONFIRMED_ROUTES, ROUTE_CALLERS } from '../../test/route-callers.js';
import { isPlatformRole, isProjectRole } from '../permissions/permissions.js';
import { PERMISSIONS, ROLES, type Role } from '../shapes/identity.js';
import { findRoute, findScope, ROUTES, type RouteName } from './routes.js';

/** Every route with every kind of caller. */
const ACCOUNT = randomUUID();
const PROJECT = randomUUID();
const NAMES = Object.keys(ROUTES) as RouteName[];
const GUARDED = NAMES.filter((name) => ROUTE_CALLERS[name] !== 'anyone');

const people = new Map<Role, SignedIn>();

const panel = await PanelFixture.open();
for (const role of ROLES)
  people.set(role, await panel.person(role, isPlatformRole(role) ? null : ACCOUNT, isProjectRole(role) ? PROJECT : null));
const stranger = await panel.person('owner', randomUUID());
afterAll(() => panel.close());

/** Sends a request without a body to a route, whose account and project are `ACCOUNT` and `PROJECT` and whose other ids are of nothing. */
function send(name: RouteName, sent: Sent): Promise<Response> {
  const { method, path } = findRoute(name);
  const filled = path.replace(':accountId', ACCOUNT).replace(':month', '2027-01').replace(/:\w+/g, randomUUID());
  // Routes of any account take theirs from the query, if from anywhere, and questions their project.
  const query = { any: `?accountId=${ACCOUNT}`, project: `?projectId=${PROJECT}`, account: '', platform: '' };
  return panel.send(filled + query[findScope(findRoute(name))], { method, ...sent });
}

/** Returns the code of a guard's refusal, or `passed`. Behind the guards the request may fail for another reason. */
function guarded({ status, body }: Response): string {
  return status === 401 || status === 403 ? body.error.code : 'passed';
}

/** A session of a role's person: a new one, because some routes end it. */
const cookieFor = (role: Role): Promise<string> => panel.session(people.get(role) as SignedIn);

test('pages of other sites may cause the return from a provider, and nothing else', () => {
  expect(NAMES.filter((name) => findRoute(name).fromOtherSites)).toEqual(['finishSso']);
});

test('the confirmed routes are those of the list', () => {
  expect(NAMES.filter((name) => findRoute(name).confirmed).sort()).toEqual([...CONFIRMED_ROUTES].sort());
});

describe.each(GUARDED)('%s', (name) => {
  const callers = ROUTE_CALLERS[name];
  const { method, access } = findRoute(name);
  const mayUse = (role: Role): boolean => callers === 'person' || callers.includes(role);

  test('needs a session or a token', async () => {
    const replies = [
      await send(name, {}),
      await send(name, { cookie: `tollgate=${'x'.repeat(43)}` }),
      await send(name, { token: `tg_adm_${'x'.repeat(36)}` }),
    ];
    expect(replies.map(guarded)).toEqual(replies.map(() => 'authentication_required'));
    expect(replies.map(({ headers }) => headers['x-request-id'])).toEqual(replies.map(() => expect.stringMatching(/^req_[0-9a-f]{32}$/)));
  });

  test('refuses a session that is over', async () => {
    const cookie = await cookieFor('admin');
    await panel.sql.query("UPDATE panel.session SET seen_at = now() - interval '31 minutes'");
    expect(guarded(await send(name, { cookie }))).toBe('authentication_required');
  });

  test('refuses other origins before it looks at credentials', async () => {
    const cookie = await cookieFor('admin');
    const foreign = { origin: 'https://evil.example' };
    const sent: Sent[] = [
      { cookie, headers: foreign },
      { headers: foreign },
      { cookie, headers: { origin: 'null' } },
      ...(method === 'GET' ? [{ cookie, headers: { 'sec-fetch-site': 'cross-site' } }] : []),
    ];
    const replies = await Promise.all(sent.map((one) => send(name, one)));
    expect(replies.map(guarded)).toEqual(replies.map(() => 'origin_not_allowed'));
  });

  test('lets in exactly its roles', async () => {
    const outcomes: Record<string, string> = {};
    for (const role of ROLES) outcomes[role] = guarded(await send(name, { cookie: await cookieFor(role) }));
    expect(outcomes).toEqual(Object.fromEntries(ROLES.map((role) => [role, mayUse(role) ? 'passed' : 'permission_denied'])));
  });

  // Routes without the account in their path refuse in the handler: the tests of their controllers have that.
  if (['account', 'project'].includes(findScope(findRoute(name)))) {
    test('does not exist for the owner of another account', async () => {
      const reply = await send(name, { cookie: await panel.session(stranger) });
      expect([reply.status, reply.body.error.code]).toEqual([404, 'not_found']);
    });
  }

  if (callers !== 'person') {
    test('lets in a token with its permission alone', async () => {
      const mine = await panel.person('admin', null); // with tokens of their own, which are limited
      const allowed = PERMISSIONS.filter((one) => one !== 'members' && one !== 'tokens');
      const wanted = allowed.filter((one) => one === access);
      const others = allowed.filter((one) => one !== access && `${one}.read` !== access);
      expect(guarded(await send(name, { token: await panel.token(mine, others) }))).toBe('permission_denied');
      for (const one of wanted) expect(guarded(await send(name, { token: await panel.token(mine, [one]) }))).toBe('passed');
    });
  }

  if (findRoute(name).confirmed) {
    test('asks for the password again after 10 minutes', async () => {
      const cookie = await cookieFor('admin');
      await panel.sql.query("UPDATE panel.session SET confirmed_at = now() - interval '10 minutes 1 second'");
      expect(guarded(await send(name, { cookie }))).toBe('confirmation_required');
    });
  }
});

test.each(NAMES.filter((name) => !GUARDED.includes(name)))('%s needs no credentials, and refuses other origins', async (name) => {
  const reply = await send(name, {});
  expect([guarded(reply), reply.status < 500]).toEqual(['passed', true]);
  const isExempt = findRoute(name).fromOtherSites === true;
  expect(guarded(await send(name, { headers: { origin: 'https://evil.example' } }))).toBe(isExempt ? 'passed' : 'origin_not_allowed');
});
