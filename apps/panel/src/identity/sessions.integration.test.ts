import { OPERATOR, PASSWORD, PanelFixture, readCookie, type SignedIn } from '../../test/panel-fixture.js';
import { Sessions } from './sessions.js';

let admin: SignedIn;
const panel = await PanelFixture.open();
beforeEach(async () => {
  await panel.sql.query('DELETE FROM panel.session');
  admin = await panel.person('admin');
});
afterAll(() => panel.close());

/** Status of a request with the cookie, and the cookie that the reply sets. */
async function ask(cookie: string): Promise<[number, string | undefined]> {
  const reply = await panel.send('/me', { cookie });
  return [reply.status, reply.headers['set-cookie']?.[0]];
}

const CLEARED = 'tollgate=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict';

test('the database has no secret of a session', async () => {
  const secret = admin.cookie.replace('tollgate=', '');
  const { rows } = await panel.sql.query('SELECT s::text FROM panel.session s');
  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toContain(secret);
  expect((await ask(admin.cookie))[0]).toBe(200);
});

test.each([
  ['30 minutes without a request', "seen_at = now() - interval '30 minutes 1 second'"],
  ['12 hours', "created_at = now() - interval '12 hours 1 second'"],
])('ends after %s, and the reply clears the cookie', async (_name, change) => {
  await panel.sql.query(`UPDATE panel.session SET ${change}`);
  expect(await ask(admin.cookie)).toEqual([401, CLEARED]);
});

test('a request within the limits keeps it, and writes the time once a minute', async () => {
  const seenAt = async () => (await panel.sql.query('SELECT seen_at FROM panel.session')).rows[0].seen_at.getTime();
  await panel.sql.query("UPDATE panel.session SET seen_at = now() - interval '29 minutes'");
  expect((await ask(admin.cookie))[0]).toBe(200);
  const first = await seenAt();
  expect(Date.now() - first).toBeLessThan(60_000);
  await ask(admin.cookie);
  expect(await seenAt()).toBe(first);
});

test.each(['', 'x'.repeat(43), 'x'.repeat(44)])('the cookie %j is no session, and is cleared', async (secret) => {
  expect(await ask(`tollgate=${secret}`)).toEqual([401, CLEARED]);
});

test('signing out ends the session on the server', async () => {
  const reply = await panel.send('/session', { method: 'DELETE', cookie: admin.cookie });
  expect([reply.status, reply.headers['set-cookie']]).toEqual([204, [CLEARED]]);
  expect((await ask(admin.cookie))[0]).toBe(401);
});

test('a confirmation replaces the secret', async () => {
  await panel.sql.query("UPDATE panel.session SET confirmed_at = now() - interval '11 minutes'");
  const invite = { method: 'POST', body: { email: 'ada@example.com', role: 'admin' } };
  const refused = await panel.send('/invites', { ...invite, cookie: admin.cookie });
  expect([refused.status, refused.body.error.code]).toEqual([403, 'confirmation_required']);
  const wrong = await panel.send('/session/confirm', { method: 'POST', cookie: admin.cookie, body: { password: 'something else' } });
  expect([wrong.status, wrong.body.error.code]).toEqual([401, 'invalid_credentials']);
  const confirmed = await panel.send('/session/confirm', { method: 'POST', cookie: admin.cookie, body: { password: PASSWORD } });
  expect(confirmed.status).toBe(200);
  expect((await ask(admin.cookie))[0]).toBe(401);
  expect((await panel.send('/invites', { ...invite, cookie: readCookie(confirmed) })).status).toBe(201);
});

test('a person sees their sessions and ends any of them', async () => {
  const other = await panel.session(admin);
  const list = await panel.send('/sessions', { cookie: admin.cookie });
  expect(list.body.sessions).toEqual([
    expect.objectContaining({ isCurrent: false, address: '192.0.2.1', userAgent: 'test' }),
    expect.objectContaining({ isCurrent: true }),
  ]);
  const [{ sessionId }] = list.body.sessions;
  expect((await panel.send(`/sessions/${sessionId}`, { method: 'DELETE', cookie: admin.cookie })).status).toBe(204);
  expect([(await ask(other))[0], (await ask(admin.cookie))[0]]).toEqual([401, 200]);
});

test('the session of another person does not exist', async () => {
  const stranger = await panel.person('auditor');
  const [{ sessionId }] = (await panel.send('/sessions', { cookie: admin.cookie })).body.sessions;
  expect((await panel.send(`/sessions/${sessionId}`, { method: 'DELETE', cookie: stranger.cookie })).status).toBe(404);
  expect((await ask(admin.cookie))[0]).toBe(200);
});

test('a new password ends all other sessions, and needs the present one', async () => {
  const other = await panel.session(admin);
  const change = (body: object) => panel.send('/me', { method: 'PATCH', cookie: admin.cookie, body });
  const password = 'a loud purple mountain';
  expect((await change({ password })).body.error).toMatchObject({ code: 'invalid_request', param: 'currentPassword' });
  expect((await change({ password, currentPassword: 'something else' })).body.error.code).toBe('invalid_credentials');
  expect((await change({ password, currentPassword: PASSWORD })).status).toBe(200);
  expect([(await ask(other))[0], (await ask(admin.cookie))[0]]).toEqual([401, 200]);
  const signIn = await panel.send('/session', { method: 'POST', body: { email: admin.email, password } });
  expect(signIn.status).toBe(201);
});

test('a new role ends the sessions of its person', async () => {
  const viewer = await panel.person('auditor');
  const reply = await panel.send(`/members/${viewer.userId}`, { method: 'PATCH', cookie: admin.cookie, body: { role: 'admin' } });
  expect([reply.status, reply.body.grants.map(({ role }: { role: string }) => role)]).toEqual([200, ['admin']]);
  expect((await ask(viewer.cookie))[0]).toBe(401);
});

test('a person has 20 sessions: the next sign-in ends the one that was used longest ago, with a row', async () => {
  const cookies = [admin.cookie];
  for (let count = 1; count < 20; count++) cookies.push(await panel.session(admin));
  await panel.sql.query("UPDATE panel.session SET seen_at = now() + interval '1 minute' WHERE user_agent IS NULL");
  const [unused] = (await panel.sql.query("SELECT id FROM panel.session WHERE user_agent = 'test' ORDER BY id LIMIT 1")).rows;
  const { status } = await panel.send('/session', { method: 'POST', body: { email: admin.email, password: PASSWORD } });
  expect(status).toBe(201);
  const answers = await Promise.all(cookies.map(async (cookie) => (await ask(cookie))[0]));
  expect(answers).toEqual([200, 401, ...Array(18).fill(200)]);
  expect((await panel.journal('session.end')).slice(-1)).toMatchObject([
    { actor: `user/${admin.userId}`, target: `session/${unused.id}`, reason: 'a person has at most 20 sessions' },
  ]);
});

test('an end of no session writes no row, and one that is over counts as none [sec-audit-row]', async () => {
  const other = await panel.session(admin);
  const rows = async () => (await panel.journal('session.end-all')).filter(({ target }) => target === `user/${admin.userId}`);
  const endOthers = () => panel.send('/sessions', { method: 'DELETE', cookie: admin.cookie });
  await panel.sql.query("UPDATE panel.session SET seen_at = now() - interval '31 minutes' WHERE user_agent = 'test'");
  expect([(await endOthers()).status, (await ask(other))[0], await rows()]).toEqual([204, 401, []]);
  const end = () => panel.app.get(Sessions).endAccess(admin.userId, false, OPERATOR);
  const one = { sessionsEnded: 1, tokensEnded: 0 };
  expect([await end(), await end()]).toEqual([one, { sessionsEnded: 0, tokensEnded: 0 }]);
  expect(await rows()).toMatchObject([{ after: one }]);
});

test('a name that is changed to itself writes no row [sec-audit-row]', async () => {
  const rename = (name: string) => panel.send('/me', { method: 'PATCH', cookie: admin.cookie, body: { name } });
  for (const name of ['Ada', 'Ada']) expect((await rename(name)).status).toBe(200);
  const rows = (await panel.journal('user.update')).filter(({ target }) => target === `user/${admin.userId}`);
  expect(rows.map(({ after }) => after)).toEqual([{ name: 'Ada' }]);
});
