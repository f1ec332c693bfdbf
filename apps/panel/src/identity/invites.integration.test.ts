import { randomUUID } from 'node:crypto';
import { OPERATOR, PASSWORD, PanelFixture, readCookie, type SignedIn } from '../../test/panel-fixture.js';
import { Members } from './members.js';

const ACCOUNT = randomUUID();
const OTHER = randomUUID();

let panel: PanelFixture;
beforeEach(async () => {
  panel = await PanelFixture.open();
});
afterEach(() => panel.close());

const accept = (body: object) => panel.send('/invites/accept', { method: 'POST', body });
const readCode = ({ status, body }: { status: number; body: { error?: { code: string } } }) => body.error?.code ?? status;

test('a link makes the first admin once, whatever arrives at once', async () => {
  const token = await panel.invite('admin');
  const replies = await Promise.all(
    ['ada@example.com', 'eve@example.com'].map((email) => accept({ token, email, name: 'Ada', password: PASSWORD })),
  );
  expect(replies.map(readCode).sort()).toEqual([201, 'not_found']);
  expect(readCode(await accept({ token, email: 'kim@example.com', password: PASSWORD }))).toBe('not_found');
  expect(await panel.prisma.panelUser.count()).toBe(1);
  const me = await panel.send('/me', { cookie: readCookie(replies.find(({ status }) => status === 201) as (typeof replies)[0]) });
  expect(me.body).toMatchObject({ name: 'Ada', grants: [{ accountId: null, role: 'admin' }] });
});

test('a link ends after 24 hours, and when a newer one for the same is made', async () => {
  const first = await panel.invite('admin');
  const second = await panel.invite('admin');
  expect(readCode(await accept({ token: first, email: 'a@example.com', password: PASSWORD }))).toBe('not_found');
  await panel.sql.query(`BEGIN; SELECT panel.record_audit('{"actor":"test"}', 'test', NULL, 'test', NULL, NULL, NULL);
    UPDATE panel.invite SET expires_at = now(); COMMIT`);
  expect(readCode(await accept({ token: second, email: 'a@example.com', password: PASSWORD }))).toBe('not_found');
});

test('the database and the journal have no token of a link', async () => {
  const token = await panel.invite('admin');
  const { rows } = await panel.sql.query('SELECT i::text FROM panel.invite i UNION ALL SELECT a::text FROM panel.audit a');
  expect(rows).toHaveLength(2);
  expect(JSON.stringify(rows)).not.toContain(token);
});

test('a weak password is refused, and the link still works', async () => {
  const token = await panel.invite('admin', null, 'ada@example.com');
  expect(readCode(await accept({ token, password: 'short' }))).toBe('invalid_request');
  expect(readCode(await accept({ token, password: PASSWORD }))).toBe(201);
});

describe('an invite of an owner', () => {
  let owner: SignedIn;
  beforeEach(async () => {
    owner = await panel.person('owner', ACCOUNT);
  });

  const invite = (body: object) => panel.send('/invites', { method: 'POST', cookie: owner.cookie, body });
  const readToken = ({ body }: { body: { link: string } }) => body.link.replace(/^.*#/, '');

  test('gives a role in that account', async () => {
    const made = await invite({ email: 'Ada@Example.com', accountId: ACCOUNT, role: 'viewer' });
    expect(made.body).toEqual({
      ...{ inviteId: expect.any(String), email: 'ada@example.com', accountId: ACCOUNT, projectId: null, role: 'viewer' },
      invitedBy: `user/${owner.userId}`,
      ...{ createdAt: expect.any(String), expiresAt: expect.any(String) },
      link: expect.stringMatching(/^http:\/\/127\.0\.0\.1:8081\/panel\/welcome#[\w-]{43}$/),
      isMailed: false,
    });
    const shown = await panel.send('/invites/show', { method: 'POST', body: { token: readToken(made) } });
    expect(shown.body).toMatchObject({ email: 'ada@example.com', role: 'viewer', password: 'new-or-present' });
    const ada = await accept({ token: readToken(made), password: PASSWORD });
    expect(ada.body).toMatchObject({ name: 'ada', grants: [{ accountId: ACCOUNT, role: 'viewer' }] });
  });

  test("that ends the operator's link for the same person and role leaves a row that says so [sec-audit-row]", async () => {
    await panel.invite('viewer', ACCOUNT, 'ada@example.com');
    const { body } = await invite({ email: 'ada@example.com', accountId: ACCOUNT, role: 'viewer' });
    const { rows } = await panel.sql.query(`SELECT actor, account_id, reason, before FROM panel.audit WHERE action = 'invite.withdraw'`);
    expect(rows).toEqual([
      {
        ...{ actor: `user/${owner.userId}`, account_id: ACCOUNT, reason: `replaced by invite/${body.inviteId}` },
        before: { email: 'ada@example.com', role: 'viewer', invitedBy: expect.any(String) },
      },
    ]);
  });

  test('cannot give what the owner has not', async () => {
    expect(readCode(await invite({ email: 'a@example.com', role: 'admin' }))).toBe('permission_denied');
    expect(readCode(await invite({ email: 'a@example.com', accountId: OTHER, role: 'viewer' }))).toBe('not_found');
    expect(readCode(await invite({ email: 'a@example.com', accountId: ACCOUNT, role: 'admin' }))).toBe('invalid_request');
  });

  test('does not take over a person who exists: it needs their password', async () => {
    const ada = await panel.person('viewer', OTHER);
    const token = readToken(await invite({ email: ada.email, accountId: ACCOUNT, role: 'developer' }));
    expect(readCode(await accept({ token, password: 'a loud purple mountain' }))).toBe('invalid_credentials');
    expect(readCode(await accept({ token, password: PASSWORD }))).toBe(201);
  });

  test('does not tell whether its address has a person, before a new person chooses a password [sec-invite-oracle]', async () => {
    const { email } = await panel.person('viewer', OTHER);
    const disabled = await panel.person('viewer', OTHER);
    await panel.app.get(Members).setDisabled(disabled.userId, true, OPERATOR);
    const answers = [];
    for (const address of [email, disabled.email, 'unknown@example.com']) {
      const token = readToken(await invite({ email: address, accountId: ACCOUNT, role: 'viewer' }));
      const shown = (await panel.send('/invites/show', { method: 'POST', body: { token } })).body;
      const tried = await accept({ token, password: 'short' });
      answers.push([{ ...shown, email: undefined, expiresAt: undefined }, tried.status, tried.body]);
    }
    const [first] = answers;
    expect(first?.[1]).toBe(400);
    expect(answers).toEqual([first, first, first]);
  });

  test('is listed while it is open, and can be withdrawn', async () => {
    const made = await invite({ email: 'ada@example.com', accountId: ACCOUNT, role: 'viewer' });
    const list = () => panel.send('/invites', { cookie: owner.cookie });
    const { link: _, isMailed: __, ...invited } = made.body;
    expect((await list()).body).toEqual({
      invites: [invited],
      nextCursor: null,
      mail: { isSetUp: false, failure: null, failingSince: null },
    });
    const stranger = await panel.person('owner', OTHER);
    const withdraw = (cookie: string) => panel.send(`/invites/${invited.inviteId}`, { method: 'DELETE', cookie });
    expect((await withdraw(stranger.cookie)).status).toBe(404);
    expect((await withdraw(owner.cookie)).status).toBe(204);
    expect((await list()).body.invites).toEqual([]);
    expect(readCode(await accept({ token: readToken(made), password: PASSWORD }))).toBe('not_found');
  });
});

test('an invite of the operator sets a new password of the person that it names, and of no other', async () => {
  const ada = await panel.person('admin');
  const password = 'a loud purple mountain';
  expect(readCode(await accept({ token: await panel.invite('admin'), email: ada.email, password }))).toBe('invalid_credentials');
  expect(readCode(await accept({ token: await panel.invite('admin', null, ada.email), password }))).toBe(201);
  const signIn = (word: string) => panel.send('/session', { method: 'POST', body: { email: ada.email, password: word } });
  expect([readCode(await signIn(PASSWORD)), readCode(await signIn(password))]).toEqual(['invalid_credentials', 201]);
  expect((await panel.send('/me', { cookie: ada.cookie })).status).toBe(401);
});

test("the operator's new password ends the person's tokens too, and names them in the journal [sec-takeover-tokens]", async () => {
  const ada = await panel.person('owner', ACCOUNT);
  const token = await panel.token(ada, ['usage.read'], ACCOUNT);
  const use = () => panel.send('/members', { token });
  expect(readCode(await use())).toBe('permission_denied');
  const link = await panel.invite('owner', ACCOUNT, ada.email);
  expect(readCode(await accept({ token: link, password: 'a loud purple mountain' }))).toBe(201);
  expect(readCode(await use())).toBe('authentication_required');
  const [revoked] = await panel.journal('token.revoke');
  expect(revoked).toMatchObject({ accountId: ACCOUNT, reason: 'the operator set a new password', actor: `user/${ada.userId}` });
  expect((await panel.journal('invite.accept')).at(-1)?.after).toMatchObject({ password: 'changed', sessionsEnded: 1, tokensEnded: 1 });
});
