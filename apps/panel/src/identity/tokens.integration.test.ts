import { randomUUID } from 'node:crypto';
import { OPERATOR, PanelFixture, type SignedIn } from '../../test/panel-fixture.js';
import type { Permission } from '../shapes/identity.js';
import { isWellFormedToken } from './secret.js';
import { Sessions } from './sessions.js';

const OTHER = randomUUID();
const DAY_MS = 86_400_000;

let account: string;
let owner: SignedIn;
const panel = await PanelFixture.open();
beforeEach(async () => {
  account = randomUUID();
  owner = await panel.person('owner', account);
});
afterAll(() => panel.close());

const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

function make(body: object): ReturnType<PanelFixture['send']> {
  const defaults = { name: 'report', accountId: account, permissions: ['usage.read'], expiresAt: inDays(30) };
  return panel.send('/tokens', { method: 'POST', cookie: owner.cookie, body: { ...defaults, ...body } });
}

/** Reads members, which needs `members.read` in any account. */
const use = (token: string) => panel.send('/members', { token });

test('is shown once, and stored as a digest', async () => {
  const made = await make({ permissions: ['usage.read', 'keys'] });
  const { token, ...shown } = made.body;
  expect([made.status, isWellFormedToken(token)]).toEqual([201, true]);
  expect(shown).toEqual({
    ...{ tokenId: expect.any(String), name: 'report', lastFour: token.slice(-4), accountId: account, permissions: ['usage.read', 'keys'] },
    ...{ createdBy: owner.userId, createdAt: expect.any(String), expiresAt: expect.any(String), revokedAt: null, usedAt: null },
  });
  expect((await panel.send('/tokens', { cookie: owner.cookie })).body).toEqual({ tokens: [shown], nextCursor: null });
  const { rows } = await panel.sql.query('SELECT t::text FROM panel.token t UNION ALL SELECT a::text FROM panel.audit a');
  expect(JSON.stringify(rows)).not.toContain(token.slice(8, 38));
});

test.each([
  ['of the platform', { accountId: undefined }, 'permission_denied'],
  ['of another account', { accountId: OTHER }, 'not_found'],
  ['with a permission that the maker has not', { permissions: ['money.write'] }, 'permission_denied'],
  ['that manages members', { permissions: ['members'] }, 'invalid_request'],
  ['that makes tokens', { permissions: ['tokens'] }, 'invalid_request'],
  ['without permissions', { permissions: [] }, 'invalid_request'],
  ['with an unknown permission', { permissions: ['everything'] }, 'invalid_request'],
  ['for more than 366 days', { expiresAt: inDays(367) }, 'invalid_request'],
  ['that is over', { expiresAt: inDays(-1) }, 'invalid_request'],
  ['without an end', { expiresAt: undefined }, 'invalid_request'],
])('a token %s is refused', async (_name, body, code) => {
  expect((await make(body)).body.error?.code).toBe(code);
  expect(await panel.prisma.panelToken.count({ where: { createdBy: owner.userId } })).toBe(0);
});

test('the same id makes one token', async () => {
  const tokenId = randomUUID();
  const replies = [await make({ tokenId }), await make({ tokenId })];
  expect(replies.map(({ status }) => status)).toEqual([201, 409]);
});

/** Gives the owner further tokens of the account. */
async function addTokens(number: number): Promise<void> {
  await panel.change(`INSERT INTO panel.token (id, digest, name, last_four, account_id, permissions, created_by, created_at, expires_at)
    SELECT id, sha256(id::text::bytea), 'report', 'abcd', '${account}', '{usage.read}', '${owner.userId}', now(), now() + interval '1 day'
    FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, ${number})) AS new`);
}

test('a person has at most 100 tokens that work', async () => {
  await addTokens(100);
  const refused = await make({});
  expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict']);
  const theirs = `created_by = '${owner.userId}'`;
  const one = `id = (SELECT id FROM panel.token WHERE ${theirs} AND revoked_at IS NULL AND expires_at > now() LIMIT 1)`;
  for (const end of ['revoked_at = now()', "created_at = now() - interval '2 days', expires_at = now() - interval '1 day'"]) {
    await panel.change(`UPDATE panel.token SET ${end} WHERE ${one}`);
    expect([(await make({})).status, (await make({})).status]).toEqual([201, 409]);
  }
});

test('the end of more than 100 tokens writes 100 rows and the number of the others', async () => {
  await addTokens(5_000);
  const before = (await panel.journal('token.revoke')).length;
  const ended = await panel.app.get(Sessions).endAccess(owner.userId, false, OPERATOR);
  expect(ended).toEqual({ sessionsEnded: 1, tokensEnded: 5_000 });
  expect(await panel.prisma.panelToken.count({ where: { createdBy: owner.userId, revokedAt: null } })).toBe(0);
  const rows = (await panel.journal('token.revoke')).slice(before);
  expect(rows).toHaveLength(101);
  const others = { tokens: 4_900, createdBy: `user/${owner.userId}` };
  expect(rows.at(-1)).toMatchObject({ target: 'token/others', accountId: null, reason: 'all sessions were ended', before: others });
});

describe('a token', () => {
  let token: string;
  beforeEach(async () => {
    token = await panel.token(owner, ['members.read' satisfies Permission, 'keys'], account);
  });

  test('does what it may in its account, and nothing else', async () => {
    expect((await use(token)).status).toBe(200);
    expect((await panel.send(`/members?accountId=${OTHER}`, { token })).status).toBe(404);
    expect((await panel.send('/tokens', { token })).body.error.code).toBe('permission_denied');
    expect((await panel.send('/me', { token })).body.error.code).toBe('permission_denied');
  });

  test('is refused when it is revoked', async () => {
    const [{ tokenId }] = (await panel.send('/tokens', { cookie: owner.cookie })).body.tokens;
    const revoked = await panel.send(`/tokens/${tokenId}`, { method: 'DELETE', cookie: owner.cookie });
    expect([revoked.status, revoked.body.revokedAt]).toEqual([200, expect.any(String)]);
    expect((await use(token)).body.error.code).toBe('authentication_required');
  });

  test.each([
    ['it has expired', "UPDATE panel.token SET created_at = now() - interval '2 days', expires_at = now()"],
    ['its maker is disabled', 'UPDATE panel."user" SET disabled_at = now()'],
  ])('is refused when %s', async (_name, change) => {
    await panel.change(change);
    expect((await use(token)).body.error.code).toBe('authentication_required');
  });

  test('loses what its maker loses', async () => {
    await panel.person('owner', account);
    await panel.send(`/members/${owner.userId}`, { method: 'PATCH', cookie: owner.cookie, body: { accountId: account, role: 'viewer' } });
    expect((await use(token)).body.error.code).toBe('permission_denied');
  });

  test('beside a session cookie is refused, because it is unclear who acts', async () => {
    const reply = await panel.send('/members', { token, cookie: owner.cookie });
    expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_request']);
  });

  test.each(['tg_adm_', `tg_adm_${'x'.repeat(36)}`, 'tg_live_x', ''])('like %j is refused', async (wrong) => {
    expect((await use(wrong)).body.error.code).toBe('authentication_required');
  });

  test('shows when it was used, to the minute', async () => {
    const usedAt = async () => (await panel.send('/tokens', { cookie: owner.cookie })).body.tokens[0].usedAt;
    expect(await usedAt()).toBeNull();
    await use(token);
    const first = await usedAt();
    await use(token);
    expect([typeof first, await usedAt()]).toEqual(['string', first]);
  });
});

test('the operator ends the sessions and tokens of a person, or keeps the tokens [sec-takeover-tokens]', async () => {
  const { token } = (await make({ permissions: ['usage.read'] })).body;
  const end = (keepTokens: boolean) => panel.app.get(Sessions).endAccess(owner.userId, keepTokens, OPERATOR);
  expect(await end(true)).toEqual({ sessionsEnded: 1, tokensEnded: 0 });
  expect((await use(token)).status).toBe(403);
  expect(await end(false)).toEqual({ sessionsEnded: 0, tokensEnded: 1 });
  expect((await use(token)).status).toBe(401);
  expect((await panel.journal('token.revoke')).at(-1)).toMatchObject({ actor: OPERATOR.caller.actor, accountId: account });
});
