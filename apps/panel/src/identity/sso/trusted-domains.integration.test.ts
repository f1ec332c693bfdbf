import { readFailure, readSession, SsoFixture } from '../../../test/sso-fixture.js';
import { TENANT, TenantProvider } from '../../../test/tenant-provider.js';
import type { Me } from '../../shapes/identity.js';

/** Another tenant of the same provider. */
const FOREIGN = '0b1f6a52-53a8-4f0e-8f6e-2d1c3c6f9e77';

let persons = 0;

const provider = await TenantProvider.start();
const entra = { issuer: provider.issuerUrl(TENANT), trustedEmailDomains: 'Example.com, example.org' };
const sso = await SsoFixture.open({ provider: entra, others: { strict: { issuer: entra.issuer } } });
const panel = sso.panel;
beforeEach(async () => {
  await panel.sql.query('DELETE FROM panel.login_failure');
  Object.assign(provider, { claims: {}, userinfo: {} });
});
afterAll(async () => {
  await sso.close();
  await provider.stop();
});

/** Invites an address of the domain, and names a subject for it. */
async function person(domain: string): Promise<{ email: string; sub: string }> {
  const email = `p${++persons}@${domain}`;
  await panel.invite('admin', null, email);
  return { email, sub: `subject-${persons}` };
}

async function signIn(claims: Record<string, unknown>, name = 'acme') {
  provider.claims = claims;
  const { address, cookie } = await sso.start('', name);
  return sso.arrive({ address: provider.visit(address), cookie });
}

const readEmail = async (reply: Awaited<ReturnType<typeof signIn>>) =>
  ((await panel.send('/me', { cookie: readSession(reply) })).body as Me).email;
const refused = (failure: string) => ({ page: '/panel/', failure, session: false });

test('an address of a listed domain signs in without email_verified', async () => {
  const one = await person('example.com');
  expect(await readEmail(await signIn(one))).toBe(one.email);
  const other = await person('example.org');
  expect(await readEmail(await signIn({ ...other, email: other.email.toUpperCase() }))).toBe(other.email);
});

test('also when only the userinfo endpoint has the address', async () => {
  const { email, sub } = await person('example.com');
  provider.userinfo = { email };
  expect(await readEmail(await signIn({ sub }))).toBe(email);
});

test('the subject stays the key: another one with the address is refused, and the same one with another address is the person', async () => {
  const { email, sub } = await person('example.com');
  await signIn({ email, sub });
  expect(readFailure(await signIn({ email, sub: 'impostor' }))).toEqual(refused('refused'));
  expect(await readEmail(await signIn({ email: 'renamed@example.com', sub }))).toBe(email);
});

test.each(['other.example', 'sub.example.com', 'example.com.evil', 'badexample.com'])(
  'an address of %s, which is not listed, is not verified',
  async (domain) => {
    expect(readFailure(await signIn(await person(domain)))).toEqual(refused('unverified'));
  },
);

test.each(['p@example.com@evil.example', '"p@example.com"@evil.example', 'p@example.com, q@evil.example', 'p@evil.example\n@example.com'])(
  'no address hides its domain: %s',
  async (email) => {
    expect(readFailure(await signIn({ email, sub: 'hidden' }))).toEqual(refused('unverified'));
  },
);

test('a token of another tenant of the provider, signed by the same key, is refused', async () => {
  const { email, sub } = await person('example.com');
  const foreign = { email, sub, iss: provider.issuerUrl(FOREIGN), tid: FOREIGN };
  expect(readFailure(await signIn(foreign))).toEqual(refused('refused'));
});

test.each([
  ['the provider says that it is not verified', { email_verified: false }, {}],
  ['the userinfo endpoint says so', {}, { email_verified: false }],
  ['the domain is not verified', { xms_edov: false }, {}],
  ['the domain is not verified, as a number', { xms_edov: 0 }, {}],
  ['the domain is not verified, as text', { xms_edov: '0' }, {}],
])('an address of a listed domain is refused when %s', async (_what, claims, further) => {
  const { email, sub } = await person('example.com');
  provider.userinfo = { email, ...further };
  expect(readFailure(await signIn({ email, sub, ...claims }))).toEqual(refused('unverified'));
});

test.each([true, 1, '1', 'true'])('xms_edov %j: the domain is verified', async (owner) => {
  const { email, sub } = await person('example.com');
  expect(await readEmail(await signIn({ email, sub, xms_edov: owner }))).toBe(email);
});

test('a provider without the setting trusts no address', async () => {
  const { email, sub } = await person('example.com');
  expect(readFailure(await signIn({ email, sub, xms_edov: true }, 'strict'))).toEqual(refused('unverified'));
});
