import { randomUUID } from 'node:crypto';
import { type AuditListRequest, catalogAuditCheck } from '#contracts/audit.js';
import { PanelFixture } from '../../test/panel-fixture.js';
import { OperatorController } from '../api/operator.controller.js';

const panel = await PanelFixture.open();
const admin = await panel.person('admin');
afterAll(() => panel.close());

const USER = `INSERT INTO panel."user" (id, email, name, password_hash) VALUES (gen_random_uuid(), 'x@example.com', 'x', '$argon2id$x')`;

/** Changes of people and rights, without their row of the journal. */
const CHANGES: Record<string, string> = {
  'a new person': USER,
  'a new name': `UPDATE panel."user" SET name = 'x'`,
  'a new password': `UPDATE panel."user" SET password_hash = '$argon2id$x'`,
  'a new role': `INSERT INTO panel."grant" (id, user_id, account_id, role) SELECT gen_random_uuid(), id, gen_random_uuid(), 'owner' FROM panel."user"`,
  'another role': `UPDATE panel."grant" SET role = 'auditor'`,
  'a removed role': 'DELETE FROM panel."grant"',
  'a new identity': `INSERT INTO panel.identity (id, user_id, issuer, subject) SELECT gen_random_uuid(), id, 'x', 'x' FROM panel."user"`,
  'a new invite': `INSERT INTO panel.invite (id, digest, role, sets_password, invited_by, created_at, expires_at)
    VALUES (gen_random_uuid(), sha256('x'), 'admin', true, 'x', now(), now())`,
  'a new token': `INSERT INTO panel.token (id, digest, name, last_four, permissions, created_by, created_at, expires_at)
    SELECT gen_random_uuid(), sha256('x'), 'x', 'x', '{keys}', id, now(), now() FROM panel."user"`,
};

test.each(Object.entries(CHANGES))('the database refuses %s without its row of the journal', async (_name, statement) => {
  await expect(panel.sql.query(statement)).rejects.toMatchObject({ code: '23514', constraint: expect.stringMatching(/_is_audited$/) });
  await panel.sql.query('BEGIN');
  await panel.sql.query(`SELECT panel.record_audit('{"actor":"test"}', 'test', NULL, 'test', NULL, NULL, NULL)`);
  await panel.sql.query(statement);
  await panel.sql.query('SET CONSTRAINTS ALL IMMEDIATE'); // as the commit does
  await panel.sql.query('ROLLBACK');
});

test('a row of an earlier transaction does not count', async () => {
  await panel.sql.query(`SELECT panel.record_audit('{"actor":"test"}', 'test', NULL, 'test', NULL, NULL, NULL)`);
  await expect(panel.sql.query(USER)).rejects.toMatchObject({ constraint: 'user_change_is_audited' });
});

test.each(['UPDATE panel.audit SET actor = actor', 'DELETE FROM panel.audit', 'TRUNCATE panel.audit'])(
  '%s: the service may not, and the owner is stopped by a trigger',
  async (statement) => {
    await expect(panel.prisma.$executeRawUnsafe(statement)).rejects.toThrow('permission denied for table audit');
    await expect(panel.sql.query(statement)).rejects.toMatchObject({ code: '23001' });
  },
);

test('rows of one transaction sort in the order in which it wrote them', async () => {
  await panel.sql.query(
    `SELECT panel.record_audit('{"actor":"test"}', 'test.order', NULL, number::text, NULL, NULL, NULL) FROM generate_series(0, 499) AS number`,
  );
  expect((await panel.journal('test.order')).map(({ target }) => target)).toEqual(
    Array.from({ length: 500 }, (_, number) => String(number)),
  );
});

test('operators read the journal over NATS, by the changed row and page by page', async () => {
  const { sql, app } = panel;
  for (const target of ['user/a', 'user/b', 'user/a'])
    await sql.query(`SELECT panel.record_audit('{"actor":"test"}', 'test.list', NULL, $1, NULL, NULL, '{"x":1}')`, [target]);
  const list = (request: AuditListRequest) => app.get(OperatorController).listJournal(request);
  const first = await list({ target: 'user/a', limit: 1 });
  const second = await list({ target: 'user/a', limit: 1, cursor: first.nextCursor ?? '' });
  expect([first, second].map(({ entries }) => entries.map(({ action, target, after }) => ({ action, target, after })))).toEqual([
    [{ action: 'test.list', target: 'user/a', after: { x: 1 } }],
    [{ action: 'test.list', target: 'user/a', after: { x: 1 } }],
  ]);
  expect([first.entries[0]?.id === second.entries[0]?.id, second.nextCursor]).toEqual([false, null]);
});

test('the check of the journals finds a changed row of the panel, beside the answer of the catalog', async () => {
  const catalog = { entries: 2, digest: 'ab', faults: [] };
  panel.messaging.answer(catalogAuditCheck, () => catalog);
  const check = async () => (await panel.send('/ledger/journals', { cookie: admin.cookie })).body;
  const { rows } = await panel.sql.query(
    'SELECT id, actor, (SELECT count(*)::int FROM panel.audit) AS entries FROM panel.audit ORDER BY id LIMIT 1',
  );
  const [{ id, actor, entries }] = rows;
  const sound = { service: 'panel', entries, digest: expect.stringMatching(/^[0-9a-f]{64}$/), faults: [] };
  expect(await check()).toEqual({ journals: [{ service: 'catalog', ...catalog }, sound] });
  const rewrite = async (text: string) => {
    await panel.sql.query('ALTER TABLE panel.audit DISABLE TRIGGER audit_is_immutable');
    await panel.sql.query('UPDATE panel.audit SET actor = $1 WHERE id = $2', [text, id]);
    await panel.sql.query('ALTER TABLE panel.audit ENABLE TRIGGER audit_is_immutable');
  };
  await rewrite('user/other');
  expect(await check()).toMatchObject({ journals: [{ faults: [] }, { faults: [id] }] });
  await rewrite(actor);
  expect(await check()).toMatchObject({ journals: [{ faults: [] }, { faults: [] }] });
});

test('refusals of permission are in the journal, with the route and not the body', async () => {
  const viewer = await panel.person('viewer', randomUUID());
  await panel.send('/invites', { method: 'POST', cookie: viewer.cookie, body: { email: 'secret@example.com', role: 'admin' } });
  expect(await panel.journal('permission.refuse')).toEqual([
    {
      ...{ actor: `user/${viewer.userId}`, actorName: viewer.email, via: 'http', action: 'permission.refuse', accountId: null },
      ...{ target: 'POST /panel/v1/invites', reason: 'This needs the permission members.', before: null, after: null },
    },
  ]);
});

test('a change names the person, the address and the request', async () => {
  const reply = await panel.send('/me', { method: 'PATCH', cookie: admin.cookie, body: { name: 'Ada' } });
  const rows = await panel.prisma.panelAudit.findMany({ where: { action: 'user.update' } });
  expect(rows).toEqual([
    {
      ...{
        id: expect.any(String),
        at: expect.any(Date),
        actor: `user/${admin.userId}`,
        actorName: admin.email,
        via: 'http',
        ip: '127.0.0.1',
      },
      ...{ requestId: reply.headers['x-request-id'], action: 'user.update', accountId: null, target: `user/${admin.userId}`, reason: null },
      ...{ before: { name: 'admin1' }, after: { name: 'Ada' } },
    },
  ]);
  const [{ at, ...row } = { at: new Date() }] = rows;
  expect(panel.log.filter(({ audit }) => (audit as { action?: string })?.action === 'user.update')).toEqual([
    expect.objectContaining({ msg: 'audit', audit: { ...row, at: at.toISOString() } }),
  ]);
});
