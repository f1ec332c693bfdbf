import { readSession, SsoFixture } from '../../../test/sso-fixture.js';
import { QUIET_CLIENT_ID } from '../../../test/test-provider.js';

/** Tests which sign-ins with a provider count as a confirmation. */

const sso = await SsoFixture.open({ others: { quiet: { clientId: QUIET_CLIENT_ID } } });
const admin = await sso.panel.person('admin');
beforeEach(() => {
  sso.provider.claims = { email: admin.email, email_verified: true };
  sso.provider.authenticatedAt = undefined;
});
afterAll(() => sso.close());

const now = () => Math.floor(Date.now() / 1000);

/** Returns the confirmation of a session, and the result of a change that needs one. */
async function worth(cookie: string): Promise<{ confirmedAt: string | null; code: string | number }> {
  const session = await sso.panel.send('/session', { cookie });
  const invite = await sso.panel.send('/invites', { method: 'POST', cookie, body: { email: 'x@example.com', role: 'auditor' } });
  return { confirmedAt: session.body.confirmedAt, code: invite.body.error?.code ?? invite.status };
}

test('a confirmation asks the provider to ask the person, and to say when it did', async () => {
  const { prompt, max_age } = Object.fromEntries((await sso.start('?confirm=true')).address.searchParams);
  expect({ prompt, max_age }).toEqual({ prompt: 'login', max_age: '0' });
});

test.each(['acme', 'quiet'])('a confirmation at %s counts from the moment at which the provider asked', async (name) => {
  sso.provider.authenticatedAt = now();
  const underway = await sso.visit(await sso.start('?confirm=true', name));
  const confirmedAt = new Date(sso.provider.authenticatedAt * 1000).toISOString();
  expect(await worth(readSession(await sso.arrive(underway)))).toEqual({ confirmedAt, code: 201 });
});

test('a provider that does not say when it asked confirms nothing [sec-fresh-confirmation]', async () => {
  const underway = await sso.start('?confirm=true', 'quiet');
  // As a provider does that ignores them.
  for (const name of ['prompt', 'max_age']) underway.address.searchParams.delete(name);
  const cookie = readSession(await sso.arrive(await sso.visit(underway)));
  expect(await worth(cookie)).toEqual({ confirmedAt: null, code: 'confirmation_required' });
});

test('an old session at the provider confirms nothing [sec-fresh-confirmation]', async () => {
  sso.provider.authenticatedAt = now() - 3_600;
  const confirmedAt = new Date(sso.provider.authenticatedAt * 1000).toISOString();
  expect(await worth(readSession(await sso.signIn('?confirm=true')))).toEqual({ confirmedAt, code: 'confirmation_required' });
});

test('a time to come confirms nothing [sec-fresh-confirmation]', async () => {
  sso.provider.authenticatedAt = now() + 3_600;
  expect(await worth(readSession(await sso.signIn()))).toEqual({ confirmedAt: null, code: 'confirmation_required' });
});
