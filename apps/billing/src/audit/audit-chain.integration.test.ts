import type { AuditEntry, Caller } from '#contracts/audit.js';
import { auditChainFaults } from '#database/audit-chain.js';
import type { PgConnection } from '#database/pg-connection.js';
import { LedgerFixture } from '../../test/ledger-fixture.js';
import { createAccount, updateAccount } from '../accounts/accounts.js';
import { freezeAccounts } from '../ledger/freeze-accounts.js';

/** The rows of the audit journal are a chain, in the order of their commits. */
const ledger = await LedgerFixture.open({ guarded: true });
for (let count = 0; count < 5; count++) await createAccount(ledger.prisma, { name: `account ${count}` });
const { rows } = await ledger.sql.query<{ id: string }>('SELECT audit_id AS id FROM billing.audit_link ORDER BY sequence');
/** Ids of five entries in the middle and at the end of the journal. */
const ids = rows.map(({ id }) => id);
afterAll(() => ledger.close());

const CALLER: Caller = { actor: 'user/7', actorName: 'Ann', via: 'panel', ip: '192.0.2.7', requestId: 'req_1' };
const record = (connection: PgConnection, target = 'x/1') =>
  connection.query(`SELECT billing.record_audit($1, 'test', NULL, $2, NULL, NULL, NULL)`, [CALLER, target]);
const faults = async (): Promise<string[]> =>
  (await ledger.sql.query<{ subject: string }>(auditChainFaults('billing'))).rows.map(({ subject }) => subject).sort();

const THE_END = 'the end of the audit journal';
const rechain = `UPDATE billing.audit_link l SET digest = billing.audit_digest('', a) FROM billing.audit a WHERE a.id = l.audit_id AND l.audit_id = `;

test.each<[what: string, sql: (id: string) => string, found: (ids: string[]) => string[]]>([
  ['a changed actor', (id) => `UPDATE billing.audit SET actor = 'user/8' WHERE id = '${id}'`, ([, , third]) => [third as string]],
  [
    'a changed time',
    (id) => `UPDATE billing.audit SET at = at + interval '1 microsecond' WHERE id = '${id}'`,
    ([, , third]) => [third as string],
  ],
  [
    'a changed value',
    (id) => `UPDATE billing.audit SET after = after || '{"name": "x"}' WHERE id = '${id}'`,
    ([, , third]) => [third as string],
  ],
  ['a removed row', (id) => `DELETE FROM billing.audit WHERE id = '${id}'`, ([, , third]) => [third as string]],
  [
    'a removed row and link',
    (id) => `WITH gone AS (DELETE FROM billing.audit WHERE id = '${id}') DELETE FROM billing.audit_link WHERE audit_id = '${id}'`,
    ([, , , fourth]) => [fourth as string],
  ],
  [
    'a changed row whose link is computed again',
    (id) => `UPDATE billing.audit SET actor = 'user/8' WHERE id = '${id}'; ${rechain} '${id}'`,
    ([, , third, fourth]) => [third as string, fourth as string].sort(),
  ],
  [
    'the last row and link removed',
    () => `DELETE FROM billing.audit WHERE id = (SELECT audit_id FROM billing.audit_link ORDER BY sequence DESC LIMIT 1);
      DELETE FROM billing.audit_link WHERE sequence = (SELECT max(sequence) FROM billing.audit_link)`,
    () => [THE_END],
  ],
  ['all rows removed', () => 'DELETE FROM billing.audit; DELETE FROM billing.audit_link', () => [THE_END]],
  ['the head removed', () => 'DELETE FROM billing.audit_head', () => [THE_END]],
  [
    'an inserted row',
    () => `INSERT INTO billing.audit (id, at, actor, action, target) VALUES ('00000000-0000-7000-8000-000000000000', now(), 'x', 'x', 'x')`,
    () => ['00000000-0000-7000-8000-000000000000'],
  ],
])('%s is found', async (_, sql, found) => {
  expect(await faults()).toEqual([]);
  await ledger.sql.query('BEGIN');
  await ledger.sql.query('SET LOCAL session_replication_role = replica');
  await ledger.sql.query(sql(ids[2] as string));
  expect(await faults()).toEqual(found(ids));
  await ledger.sql.query('ROLLBACK');
});

test('a transaction that has recorded its change and is not committed delays no other', async () => {
  const [slow, quick] = [await ledger.connect(), await ledger.connect()];
  await slow.query('BEGIN');
  await record(slow, 'x/slow');
  await record(quick, 'x/quick');
  await slow.query('COMMIT');
  expect(await faults()).toEqual([]);
  const { rows } = await ledger.sql.query<{ target: string }>(
    'SELECT target FROM billing.audit_link l JOIN billing.audit a ON a.id = l.audit_id ORDER BY sequence DESC LIMIT 2',
  );
  expect(rows.map(({ target }) => target)).toEqual(['x/slow', 'x/quick']);
});

test('concurrent changes are one chain', async () => {
  const connections = await Promise.all(Array.from({ length: 8 }, () => ledger.connect()));
  const before = await ledger.sql.query<{ count: number }>('SELECT sequence::int AS count FROM billing.audit_head');
  await Promise.all(
    connections.map(async (connection) => {
      for (let count = 0; count < 25; count++) await record(connection);
    }),
  );
  const after = await ledger.sql.query<{ count: number }>('SELECT sequence::int AS count FROM billing.audit_head');
  expect((after.rows[0]?.count ?? 0) - (before.rows[0]?.count ?? 0)).toBe(200);
  expect(await faults()).toEqual([]);
});

test('a change that is rolled back leaves neither row nor gap', async () => {
  const connection = await ledger.connect();
  await connection.query('BEGIN');
  await record(connection);
  await connection.query('ROLLBACK');
  await record(connection);
  expect(await faults()).toEqual([]);
});

test('each entry is one log line, after the commit', async () => {
  const lines: [fields: unknown, message: string][] = [];
  const author = { caller: CALLER, logger: { info: ((fields: unknown, message: string) => lines.push([fields, message])) as never } };
  const account = await createAccount(ledger.prisma, { name: 'acme' }, author);
  const { accountId } = account;
  await updateAccount(ledger.prisma, { accountId, name: 'acme' }, author);
  await freezeAccounts(ledger.sql, new Map([[accountId, 'ledger check: I2']]), author);
  const entry = { ...CALLER, id: expect.any(String), at: expect.any(String), accountId, target: `account/${accountId}` };
  const frozen = { status: 'frozen', statusReason: 'ledger check: I2' };
  const expected: AuditEntry[] = [
    { ...entry, action: 'account.create', reason: null, before: null, after: { ...account } },
    { ...entry, action: 'account.update', reason: 'ledger check: I2', before: { status: 'active', statusReason: null }, after: frozen },
  ];
  expect(lines).toEqual(expected.map((audit) => [{ audit }, 'audit']));
});
