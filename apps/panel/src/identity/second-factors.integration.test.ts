import { jest } from '@jest/globals';
import { TOTP } from 'otpauth';
import { FakeAuthenticator } from '../../test/fake-authenticator.js';
import { OPERATOR, PANEL_URL, PASSWORD, PanelFixture, type SignedIn } from '../../test/panel-fixture.js';
import { SecondFactors } from './second-factors.js';

/** Passkeys belong to a name: browsers allow none at an IP address. */
const HOST_URL = 'http://localhost:8081';
const panel = await PanelFixture.open({ panelUrl: HOST_URL, panelOrigins: PANEL_URL });
afterEach(() => jest.restoreAllMocks());
afterAll(() => panel.close());

const post = (path: string, { cookie }: { cookie: string }, body: object = {}) => panel.send(path, { method: 'POST', cookie, body });
const signIn = (email: string, proof: object = {}, password = PASSWORD) =>
  panel.send('/session', { method: 'POST', body: { email, password, ...proof } });
const outcome = ({ status, body }: { status: number; body: { error?: { code: string; param: string | null } } }) =>
  body.error ? [status, body.error.code, body.error.param] : status;
const WRONG = [401, 'invalid_credentials', 'code'];

/** A clock that stands, so that a code is that of its step. */
let now = Date.now();
function stand(milliseconds = 0): void {
  now += milliseconds;
  jest.spyOn(Date, 'now').mockImplementation(() => now);
}

async function addApp(person: SignedIn): Promise<{ codeNow: () => string; codes: string[]; factorId: string }> {
  const { secret } = (await post('/me/second-factors/app', person)).body;
  const codeNow = () => new TOTP({ secret }).generate({ timestamp: Date.now() });
  const { status, body } = await post('/me/second-factors', person, { name: 'Phone', secret, code: codeNow() });
  expect(status).toBe(201);
  return { codeNow, codes: body.recoveryCodes, factorId: body.factor.factorId };
}

async function addPasskey(person: SignedIn): Promise<FakeAuthenticator> {
  const authenticator = new FakeAuthenticator(HOST_URL);
  const { options } = (await post('/me/second-factors/passkey', person)).body;
  expect((await post('/me/second-factors', person, { name: 'Laptop', passkey: authenticator.make(options) })).status).toBe(201);
  return authenticator;
}

test('a code of the app signs in after the password, once, also from a clock that differs by a step', async () => {
  stand();
  const person = await panel.person('admin');
  const { codeNow } = await addApp(person);
  expect(outcome(await signIn(person.email))).toEqual([401, 'second_factor_required', null]);
  expect(outcome(await signIn(person.email, { code: '12345' }))).toEqual(WRONG);
  // The code that added the app is used.
  expect(outcome(await signIn(person.email, { code: codeNow() }))).toEqual(WRONG);
  stand(30_000);
  const code = codeNow();
  stand(30_000);
  expect(outcome(await signIn(person.email, { code: `${code.slice(0, 3)} ${code.slice(3)}` }))).toBe(201);
  expect(outcome(await signIn(person.email, { code }))).toEqual(WRONG);
  stand(90_000);
  expect(outcome(await signIn(person.email, { code }))).toEqual(WRONG);
  expect(outcome(await signIn(person.email, { code: codeNow() }, 'a wrong password'))).toEqual([401, 'invalid_credentials', null]);
});

test('a code that is sent twice at once signs in once', async () => {
  stand();
  const person = await panel.person('admin');
  const { codeNow } = await addApp(person);
  stand(30_000);
  const replies = await Promise.all(Array.from({ length: 4 }, () => signIn(person.email, { code: codeNow() })));
  expect(replies.map(outcome).sort()).toEqual([201, WRONG, WRONG, WRONG]);
});

test('a recovery code signs in once, in any spelling; new ones end the former', async () => {
  const person = await panel.person('admin');
  const { codes } = await addApp(person);
  const [first = '', second = ''] = codes;
  expect([codes.length, new Set(codes).size, first]).toEqual([10, 10, expect.stringMatching(/^[0-9a-f]{5}(-[0-9a-f]{5}){3}$/)]);
  expect(outcome(await signIn(person.email, { code: first.replaceAll('-', '').toUpperCase() }))).toBe(201);
  expect(outcome(await signIn(person.email, { code: first }))).toEqual(WRONG);
  expect((await panel.send('/me/second-factors', { cookie: person.cookie })).body.recoveryCodesLeft).toBe(9);
  const made = await post('/me/recovery-codes', person);
  expect(outcome(await signIn(person.email, { code: second }))).toEqual(WRONG);
  expect(outcome(await signIn(person.email, { code: made.body.recoveryCodes[0] }))).toBe(201);
});

test('ten wrong codes are enough, from wherever they come, and a passkey still signs in', async () => {
  const person = await panel.person('admin');
  const { codes } = await addApp(person);
  const authenticator = await addPasskey(person);
  for (let guess = 0; guess < 10; guess++) expect(outcome(await signIn(person.email, { code: '000000x' }))).toEqual(WRONG);
  expect(outcome(await signIn(person.email, { code: codes[0] }))).toEqual([429, 'rate_limit_exceeded', null]);
  const { details } = (await signIn(person.email)).body.error;
  expect(outcome(await signIn(person.email, { passkey: authenticator.use(details.passkeyOptions) }))).toBe(201);
});

test('a passkey signs in with an answer to its own challenge, once', async () => {
  const [person, other] = [await panel.person('admin'), await panel.person('admin')];
  const authenticator = await addPasskey(person);
  await addPasskey(other);
  const ask = async ({ email }: SignedIn) => (await signIn(email)).body.error.details;
  const demand = await ask(person);
  expect(demand).toEqual({ ways: 'code passkey', passkeyOptions: expect.any(String) });
  const refused = [401, 'invalid_credentials', 'passkey'];
  const answer = authenticator.use(demand.passkeyOptions);
  expect(outcome(await signIn(other.email, { passkey: answer }))).toEqual(refused);
  expect(outcome(await signIn(person.email, { passkey: new FakeAuthenticator(HOST_URL).use(demand.passkeyOptions) }))).toEqual(refused);
  expect(outcome(await signIn(person.email, { passkey: answer }))).toBe(201);
  expect(outcome(await signIn(person.email, { passkey: answer }))).toEqual(refused);
  const ofOther = authenticator.use((await ask(other)).passkeyOptions);
  expect(outcome(await signIn(person.email, { passkey: ofOther }))).toEqual(refused);
  expect(outcome(await signIn(person.email, { passkey: '{"id":' }))).toEqual(refused);
});

test.each([
  ['the code of another secret', { secret: 'A'.repeat(32), code: '000000' }, 'code'],
  ['a secret of another form', { secret: 'short', code: '000000' }, 'secret'],
  ['an answer of another site', { passkey: new FakeAuthenticator('http://localhost:9999').make('{"challenge":"AAAA"}') }, 'passkey'],
  ['an answer that is no JSON', { passkey: 'x' }, 'passkey'],
])('%s adds nothing', async (_, body, param) => {
  const person = await panel.person('admin');
  expect(outcome(await post('/me/second-factors', person, { name: 'x', ...body }))).toEqual([400, 'invalid_request', param]);
  expect((await panel.send('/me/second-factors', { cookie: person.cookie })).body.factors).toEqual([]);
});

test('the list has no secret, another person removes none of it, and with the last factor the password alone signs in', async () => {
  const [person, other] = [await panel.person('admin'), await panel.person('admin')];
  const { factorId } = await addApp(person);
  const listed = await panel.send('/me/second-factors', { cookie: person.cookie });
  const factor = { factorId, kind: 'app', name: 'Phone', createdAt: expect.any(String), usedAt: null };
  expect(listed.body).toEqual({ factors: [factor], recoveryCodesLeft: 10, allowsPasskeys: true });
  const remove = ({ cookie }: SignedIn) => panel.send(`/me/second-factors/${factorId}`, { method: 'DELETE', cookie });
  expect([outcome(await remove(other)), (await remove(person)).status]).toEqual([[404, 'not_found', null], 204]);
  expect(outcome(await signIn(person.email))).toBe(201);
  expect(await panel.prisma.panelRecoveryCode.count({ where: { userId: person.userId } })).toBe(0);
});

test('a link that gives an existing person a role or a new password demands the factor too', async () => {
  const person = await panel.person('admin');
  const { codes } = await addApp(person);
  const token = await panel.invite('auditor', null, person.email);
  const accept = (proof: object) =>
    panel.send('/invites/accept', { method: 'POST', body: { token, password: 'another quiet river', ...proof } });
  expect(outcome(await accept({}))).toEqual([401, 'second_factor_required', null]);
  expect(outcome(await accept({ code: codes[0] }))).toBe(201);
});

test('the operator removes the factors of a person who has lost them, and the journal says so', async () => {
  const person = await panel.person('admin');
  await addApp(person);
  await addPasskey(person);
  expect(await panel.app.get(SecondFactors).reset(person.userId, OPERATOR)).toBe(2);
  expect(outcome(await signIn(person.email))).toBe(201);
  const rows = (await panel.journal('factor.reset')).filter(({ target }) => target === `user/${person.userId}`);
  expect(rows).toEqual([expect.objectContaining({ actor: 'cli/test@host', before: { factors: 2 } })]);
});
