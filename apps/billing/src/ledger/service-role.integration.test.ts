import { randomUUID } from 'node:crypto';
import { connectPg } from '#database/pg-connection.js';
import { LedgerFixture, makeReserve, makeUsage } from '../../test/ledger-fixture.js';
import { BillingConfig } from '../billing.config.js';
import { connectForMinutes } from '../controllers/connections.js';

/** The database user of the billing service can do its work and cannot change journals. */
const ledger = await LedgerFixture.open();
const service = await connectPg({ url: ledger.url, applicationName: 'test' });
const customer = await ledger.customer({ topup: 1_000n });
const lanes = ledger.newLanes();
const reserve = makeReserve(customer, 100n);
await lanes.reserve(reserve);
await lanes.settle({ holdId: reserve.holdId, accountId: customer.accountId, reason: 'completed', usage: makeUsage(5) });
afterAll(async () => {
  await service.end();
  await ledger.close();
});

const SIGNED = ['month_receipt_part', 'month_line', 'month_signature', 'receipt_key', 'installation'];
const JOURNALS = [
  'settlement',
  'late_settlement',
  'movement',
  'audit',
  'audit_link',
  'month',
  'month_account',
  'month_grant',
  'month_receipt',
  ...SIGNED,
];
/** A column of the journals that have no account. */
const COLUMNS: Record<string, string> = {
  audit_link: 'audit_id',
  month: 'manifest',
  month_line: 'line',
  month_signature: 'signature',
  receipt_key: 'public_key',
  installation: 'id',
};

test.each(JOURNALS.flatMap((journal) => ['UPDATE', 'DELETE', 'TRUNCATE'].map((verb) => [verb, journal] as const)))(
  '%s on %s: the service may not, and the owner is stopped by a trigger',
  async (verb, journal) => {
    const table = `billing.${journal}`;
    const column = COLUMNS[journal] ?? 'account_id';
    const statement: Record<string, string> = {
      UPDATE: `UPDATE ${table} SET ${column} = ${column}`,
      DELETE: `DELETE FROM ${table}`,
      TRUNCATE: `TRUNCATE ${table} CASCADE`,
    };
    await expect(service.query(statement[verb] ?? '')).rejects.toMatchObject({ code: '42501' });
    const { rows } = await service.query("SELECT has_any_column_privilege($1, 'UPDATE') AS may", [table]);
    expect(rows).toEqual([{ may: false }]);
    await expect(ledger.sql.query(statement[verb] ?? '')).rejects.toMatchObject({ code: '23001' });
    // Only the triggers stop the owner, those of partitions included.
    await ledger.sql.query('BEGIN');
    await ledger.sql.query('DROP FUNCTION billing.refuse_change() CASCADE');
    await ledger.sql.query(statement[verb] ?? '');
    await ledger.sql.query('ROLLBACK');
  },
);

test.each([
  'DELETE FROM billing.account',
  'DELETE FROM billing.project',
  'DELETE FROM billing.api_key',
  'UPDATE billing.account SET created_at = now(), id = gen_random_uuid()',
  'UPDATE billing.project SET account_id = gen_random_uuid()',
  'UPDATE billing.api_key SET digest = digest',
  'UPDATE billing.hold SET amount = 0',
  'INSERT INTO billing.audit_link (sequence) VALUES (1)',
  'UPDATE billing.audit_head SET sequence = 0',
  'UPDATE billing.hold SET input_price = 0',
  'TRUNCATE billing.hold',
  'ALTER TABLE billing.account DROP CONSTRAINT account_topup_covers_held',
  'ALTER TABLE billing.settlement DISABLE TRIGGER ALL',
  'DROP TABLE billing.hold',
  'CREATE TABLE billing.mine (id integer)',
  'CREATE OR REPLACE FUNCTION billing.demand(condition boolean, what text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$',
  'SELECT * FROM catalog.price',
  'SELECT * FROM panel.session',
  'UPDATE catalog.upstream SET base_url = base_url',
  'SET ROLE pg_database_owner',
])('the service may not: %s', async (statement) => {
  await expect(service.query(statement)).rejects.toMatchObject({ code: '42501' });
});

test('service-roles.ts covers every table and column of the services', async () => {
  const { GRANTS } = await import('../../../../scripts/prisma/service-roles.ts');
  const { rows } = await ledger.sql.query<{ schema: string; table: string; columns: string[] }>(
    `SELECT table_schema AS schema, table_name AS table, array_agg(column_name::text ORDER BY column_name) AS columns
     FROM information_schema.columns WHERE table_schema IN ('billing', 'catalog', 'panel', 'activity', 'payments') GROUP BY 1, 2 ORDER BY 1, 2`,
  );
  const granted = Object.entries(GRANTS).flatMap(([schema, { tables }]) => Object.keys(tables).map((table) => `${schema}.${table}`));
  expect(granted.sort()).toEqual(rows.map(({ schema, table }) => `${schema}.${table}`));
  for (const { schema, table, columns } of rows) {
    const { update = [] } = GRANTS[schema as keyof typeof GRANTS].tables[table] ?? {};
    expect(columns).toEqual(expect.arrayContaining(update));
  }
});

test('the service has no just-in-time compilation and no rights beyond its schema', async () => {
  const { rows } = await service.query(
    `SELECT current_setting('jit') AS jit, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls, rolreplication
     FROM pg_roles WHERE rolname = current_user`,
  );
  expect(rows).toEqual([
    { jit: 'off', rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolbypassrls: false, rolreplication: false },
  ]);
});

test('statements that read the whole journal are not compiled, even as the owner', async () => {
  const connection = await connectForMinutes(Object.assign(new BillingConfig(), { databaseUrl: ledger.ownerUrl }));
  const { rows } = await connection.query('SHOW jit');
  await connection.end();
  expect(rows).toEqual([{ jit: 'off' }]);
});

test('setting up the users again revokes other grants and leaves the owner unchanged', async () => {
  const { ensureServiceRoles } = await import('../../../../scripts/prisma/service-roles.ts');
  const owner = ledger.ownerUrl;
  const role = new URL(ledger.url).username;
  await ledger.sql.query(`GRANT DELETE ON billing.account TO ${role}`);
  expect(await ensureServiceRoles(owner, { billing: ledger.url, catalog: owner })).toEqual([role]);
  await expect(service.query('DELETE FROM billing.account')).rejects.toMatchObject({ code: '42501' });
  expect(await ensureServiceRoles(owner, { billing: owner })).toEqual([]);
  const unknown = Object.assign(new URL(ledger.url), { username: `nobody_${randomUUID().slice(0, 8)}` }).href;
  await expect(ensureServiceRoles(ledger.url, { billing: unknown })).rejects.toThrow(/may not create it/);
});
