import { PASSWORD } from '../../test/panel-fixture.js';
import { readFailure, readSession, SsoFixture } from '../../test/sso-fixture.js';
import { PanelError } from '../errors/panel-error.js';
import { Invites } from './invites.js';

const OPERATOR = { caller: { actor: 'cli/test@host', actorName: null, via: 'cli', ip: null, requestId: null } };

const sso = await SsoFixture.open({ panel: { panelPasswords: 'off' } });
const token = await sso.panel.invite('admin', null, 'ada@example.com');
afterAll(() => sso.close());

const post = (path: string, body: object, cookie?: string) => sso.panel.send(path, { method: 'POST', body, cookie });

test('the page offers the providers alone, and a link leads to them', async () => {
  expect((await sso.panel.send('/sso')).body).toEqual({ passwords: false, providers: [{ name: 'acme', label: 'Acme' }] });
  expect((await post('/invites/show', { token })).body).toMatchObject({ email: 'ada@example.com', role: 'admin', password: 'none' });
});

test('every use of a password says so, whatever the password', async () => {
  sso.provider.claims = { email: 'ada@example.com', email_verified: true };
  const cookie = readSession(await sso.signIn());
  const replies = [
    await post('/session', { email: 'ada@example.com', password: PASSWORD }),
    await post('/session/confirm', { password: PASSWORD }, cookie),
    await post('/invites/accept', { token, password: PASSWORD }),
    await sso.panel.send('/me', { method: 'PATCH', cookie, body: { password: 'a loud purple mountain', currentPassword: PASSWORD } }),
  ];
  const message = 'Passwords are off in this panel. Sign in with a provider.';
  expect(replies.map(({ status, body }) => [status, body.error])).toEqual(
    replies.map(() => [403, { message, type: 'permission_error', param: null, code: 'permission_denied' }]),
  );
  expect((await sso.panel.send('/me', { cookie })).body).toMatchObject({ hasPassword: false, grants: [{ role: 'admin' }] });
});

test('an error of the panel itself at the callback leads to the page, and the log has its cause', async () => {
  const back = await sso.visit(await sso.start('?returnTo=/panel/profile'));
  await sso.panel.sql.query('ALTER TABLE panel.login_failure RENAME TO gone');
  const reply = await sso.arrive(back);
  await sso.panel.sql.query('ALTER TABLE panel.gone RENAME TO login_failure');
  expect(readFailure(reply)).toEqual({ page: '/panel/profile', failure: 'internal', session: false });
  expect(sso.panel.log.findLast(({ msg }) => msg === 'sign-in with a provider failed')).toMatchObject({
    requestId: reply.headers['x-request-id'],
    failure: 'internal',
    err: { message: expect.stringContaining('login_failure') },
  });
});

test('an invite without an e-mail is not made: the provider could not know it', async () => {
  const made = sso.panel.app.get(Invites).create({ accountId: null, role: 'admin', setsPassword: true }, OPERATOR);
  await expect(made).rejects.toThrow(PanelError);
  await expect(made).rejects.toMatchObject({ code: 'invalid_request', param: 'email' });
});
