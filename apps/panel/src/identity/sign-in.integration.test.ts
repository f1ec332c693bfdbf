import { jest } from '@jest/globals';
import { PASSWORD, PanelFixture, readCookie } from '../../test/panel-fixture.js';
import { SignInBlock } from './throttle.js';

const panel = await PanelFixture.open({ trustedProxyHops: 1 });
afterEach(() => jest.restoreAllMocks());
afterAll(() => panel.close());

let addresses = 0;
/** An address at which no test has signed in. */
const newAddress = (): string => `198.51.100.${++addresses}`;
const signIn = (email: string, password = PASSWORD, address?: string) =>
  panel.send('/session', { method: 'POST', body: { email, password }, headers: address ? { 'x-forwarded-for': address } : {} });
/** Sends `count` wrong passwords at once. */
const guess = (count: number, email: string, address: string) =>
  Promise.all(Array.from({ length: count }, () => signIn(email, 'a wrong password', address)));
const confirm = (cookie: string, password: string) => panel.send('/session/confirm', { method: 'POST', cookie, body: { password } });
const codes = (replies: { status: number; body: { error?: { code: string } } }[]) =>
  replies.map(({ status, body }) => body.error?.code ?? status);

test('signs in with e-mail and password, and the cookie is out of reach of scripts and other sites', async () => {
  const { email, userId } = await panel.person('admin');
  const reply = await signIn(email.toUpperCase());
  expect([reply.status, reply.body]).toEqual([201, expect.objectContaining({ userId, email })]);
  expect(reply.headers['set-cookie']).toEqual([expect.stringMatching(/^tollgate=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)]);
  const session = await panel.send('/session', { cookie: readCookie(reply) });
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

test('ten failures of a person at an address are enough, whatever arrives at once, and a right password no longer helps there', async () => {
  const [{ email }, address] = [await panel.person('admin'), newAddress()];
  const guesses = await guess(14, email, address);
  expect(codes(guesses).sort()).toEqual([...Array(10).fill('invalid_credentials'), ...Array(4).fill('rate_limit_exceeded')]);
  const refused = await signIn(email, PASSWORD, address);
  expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limit_exceeded']);
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(870);
  const now = Date.now;
  jest.spyOn(Date, 'now').mockImplementation(() => now() + 15 * 60_000);
  expect((await signIn(email, PASSWORD, address)).status).toBe(201);
});

test('a stranger who guesses ten times does not lock a person out of another address [sec-lockout]', async () => {
  const { email } = await panel.person('admin');
  await guess(11, email, newAddress());
  expect((await signIn(email, PASSWORD, newAddress())).status).toBe(201);
});

test('where a person has signed in before, failures delay them and do not lock them out [sec-lockout]', async () => {
  const [{ email }, address] = [await panel.person('admin'), newAddress()];
  expect((await signIn(email, PASSWORD, address)).status).toBe(201);
  expect(codes(await guess(10, email, address))).toEqual(Array(10).fill('invalid_credentials'));
  expect((await signIn(email, PASSWORD, address)).status).toBe(201);
});

test('where a person has signed in before, strangers who use up the address delay them anew each time [sec-lockout]', async () => {
  const turns = jest.spyOn(SignInBlock.prototype, 'waitForTurn');
  const [{ email }, address] = [await panel.person('admin'), newAddress()];
  expect((await signIn(email, PASSWORD, address)).status).toBe(201);
  for (let stranger = 0; stranger < 5; stranger++) await guess(10, `stranger${stranger}@example.com`, address);
  expect(codes([await signIn('unknown@example.com', 'x', address)])).toEqual(['rate_limit_exceeded']);
  expect(codes([await signIn(email, PASSWORD, address), await signIn(email, PASSWORD, address)])).toEqual([201, 201]);
  expect(turns.mock.results.flatMap(({ type, value }) => (type === 'return' ? [value] : []))).toEqual([2_000, 2_000]);
});

test('a sign-in without a known address makes none known: strangers share it [sec-lockout]', async () => {
  const { email } = await panel.person('admin');
  expect((await signIn(email, PASSWORD, 'no address')).status).toBe(201);
  await guess(10, email, 'no address');
  expect(codes([await signIn(email, PASSWORD, 'no address')])).toEqual(['rate_limit_exceeded']);
});

test('failed sign-ins do not keep a signed-in person from a confirmation [sec-lockout]', async () => {
  const { email, cookie } = await panel.person('admin');
  await guess(11, email, newAddress());
  expect((await confirm(cookie, PASSWORD)).status).toBe(200);
});

test('ten wrong confirmations are enough for a session, and count for no other and for no sign-in [sec-lockout]', async () => {
  const person = await panel.person('admin');
  const other = await panel.session(person);
  const guesses = await Promise.all(Array.from({ length: 12 }, () => confirm(person.cookie, 'a wrong password')));
  expect(codes(guesses).sort()).toEqual([...Array(10).fill('invalid_credentials'), ...Array(2).fill('rate_limit_exceeded')]);
  expect(codes([await confirm(person.cookie, PASSWORD)])).toEqual(['rate_limit_exceeded']);
  expect((await confirm(other, PASSWORD)).status).toBe(200);
  expect((await signIn(person.email, PASSWORD, newAddress())).status).toBe(201);
});

test('a success forgets the failures of its person at its address', async () => {
  const [{ email }, address] = [await panel.person('admin'), newAddress()];
  for (let round = 0; round < 2; round++) {
    await guess(8, email, address);
    expect((await signIn(email, PASSWORD, address)).status).toBe(201);
  }
});

test.each([
  ['an address', () => '203.0.113.7'],
  ['a /64 of IPv6', (index: number) => `2001:db8:0:7::${index.toString(16)}`],
])('fifty failures of %s are enough, whatever the e-mails', async (_name, address) => {
  for (let round = 0; round < 5; round++)
    await Promise.all(
      Array.from({ length: 10 }, (_, index) => signIn(`nobody${round}-${index}@example.com`, 'x', address(10 * round + index))),
    );
  expect(codes([await signIn('unknown@example.com', 'x', address(99))])).toEqual(['rate_limit_exceeded']);
});

test('what was refused once is refused without the database', async () => {
  const [{ email }, address] = [await panel.person('admin'), newAddress()];
  await guess(11, email, address);
  await panel.sql.query('BEGIN; LOCK panel.login_failure, panel."user", panel.audit IN ACCESS EXCLUSIVE MODE');
  const refused = await signIn(email, PASSWORD, address);
  await panel.sql.query('ROLLBACK');
  expect(codes([refused])).toEqual(['rate_limit_exceeded']);
});

test('the journal has sign-ins and refusals, and nothing that was typed', async () => {
  const { email, userId } = await panel.person('admin');
  await signIn('my secret password', 'x', newAddress());
  await signIn(email, 'a wrong password', newAddress());
  const row = { actor: 'anonymous', actorName: null, via: 'http', accountId: null, reason: null, before: null, after: null };
  expect((await panel.journal('session.refuse')).slice(-2)).toEqual([
    { ...row, action: 'session.refuse', target: 'user/unknown' },
    { ...row, action: 'session.refuse', target: `user/${userId}` },
  ]);
  const everything = JSON.stringify([await panel.prisma.panelAudit.findMany(), await panel.prisma.panelLoginFailure.findMany(), panel.log]);
  expect(everything).not.toMatch(/my secret password|a wrong password|a quiet orange river/);
});
