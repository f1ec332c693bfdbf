import { cookieOf, PASSWORD, PanelFixture } from '../../test/panel-fixture.js';

let panel: PanelFixture;
beforeAll(async () => {
  panel = await PanelFixture.open();
});
beforeEach(() => panel.sql.query('DELETE FROM panel.login_failure'));
afterAll(() => panel.close());

const signIn = (email: string, password = PASSWORD) => panel.send('/session', { method: 'POST', body: { email, password } });
const codes = (replies: { status: number; body: { error?: { code: string } } }[]) =>
  replies.map(({ status, body }) => body.error?.code ?? status);

test('signs in with e-mail and password, and the cookie is out of reach of scripts and other sites', async () => {
  const { email, userId } = await panel.person('admin');
  const reply = await signIn(email.toUpperCase());
  expect([reply.status, reply.body]).toEqual([201, expect.objectContaining({ userId, email })]);
  expect(reply.headers['set-cookie']).toEqual([expect.stringMatching(/^tollgate=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)]);
  const session = await panel.send('/session', { cookie: cookieOf(reply) });
  expect([session.status, session.body]).toEqual([200, expect.objectContaining({ isCurrent: true, userAgent: null })]);
});

test('an unknown e-mail, a wrong password and a disabled person get the same answer', async () => {
  await panel.person('admin');
  const disabled = await panel.person('auditor');
  const { email } = await panel.person('admin');
  const admin = await panel.person('admin');
  await panel.send(`/members/${disabled.userId}`, { method: 'PATCH', cookie: admin.cookie, body: { disabled: true } });
  const replies = await Promise.all([signIn('unknown@example.com'), signIn(email, 'another password'), signIn(disabled.email)]);
  const expected = {
    message: 'The e-mail or the password is wrong.',
    type: 'authentication_error',
    param: null,
    code: 'invalid_credentials',
  };
  expect(replies.map(({ status, body }) => [status, body])).toEqual(replies.map(() => [401, { error: expected }]));
});

test('ten failures of an e-mail are enough, whatever arrives at once, and a right password no longer helps', async () => {
  const { email } = await panel.person('admin');
  const guesses = await Promise.all(Array.from({ length: 14 }, () => signIn(email, 'a wrong password')));
  expect(codes(guesses).sort()).toEqual([...Array(10).fill('invalid_credentials'), ...Array(4).fill('rate_limit_exceeded')]);
  const refused = await signIn(email);
  expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limit_exceeded']);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(880);
  await panel.sql.query("UPDATE panel.login_failure SET at = at - interval '15 minutes'");
  expect((await signIn(email)).status).toBe(201);
});

test('a success forgets the failures of its e-mail', async () => {
  const { email } = await panel.person('admin');
  for (let round = 0; round < 2; round++) {
    await Promise.all(Array.from({ length: 8 }, () => signIn(email, 'a wrong password')));
    expect((await signIn(email)).status).toBe(201);
  }
});

test('fifty failures of an address are enough, whatever the e-mails', async () => {
  await panel.sql.query(
    `INSERT INTO panel.login_failure (id, email_digest, address, at)
     SELECT gen_random_uuid(), sha256(n::text::bytea), '127.0.0.1', clock_timestamp() FROM generate_series(1, 50) n`,
  );
  expect(codes([await signIn('unknown@example.com')])).toEqual(['rate_limit_exceeded']);
});

test('the journal has sign-ins and refusals, and nothing that was typed', async () => {
  const { email, userId } = await panel.person('admin');
  await signIn('my secret password', 'x');
  await signIn(email, 'a wrong password');
  const row = { actor: 'anonymous', actorName: null, via: 'http', accountId: null, reason: null, before: null, after: null };
  expect((await panel.journal('session.refuse')).slice(-2)).toEqual([
    { ...row, action: 'session.refuse', target: 'user/unknown' },
    { ...row, action: 'session.refuse', target: `user/${userId}` },
  ]);
  const everything = JSON.stringify([await panel.prisma.panelAudit.findMany(), await panel.prisma.panelLoginFailure.findMany(), panel.log]);
  expect(everything).not.toMatch(/my secret password|a wrong password|a quiet orange river/);
});
