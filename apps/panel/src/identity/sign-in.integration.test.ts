import { cookieOf, PASSWORD, PanelFixture } from '../../test/panel-fixture.js';

let panel: PanelFixture;
beforeEach(async () => {
  panel = await PanelFixture.open();
});
afterEach(() => panel.close());

const signIn = (email: string, password = PASSWORD) => panel.send('/session', { method: 'POST', body: { email, password } });

test('signs in with e-mail and password, and the cookie is out of reach of scripts and other sites', async () => {
  const { email, userId } = await panel.person('admin');
  const reply = await signIn(email.toUpperCase());
  expect([reply.status, reply.body]).toEqual([201, expect.objectContaining({ userId, email })]);
  expect(reply.headers['set-cookie']).toEqual([expect.stringMatching(/^tollgate=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)]);
  const session = await panel.send('/session', { cookie: cookieOf(reply) });
  expect([session.status, session.body]).toEqual([200, expect.objectContaining({ isCurrent: true, userAgent: null })]);
});
