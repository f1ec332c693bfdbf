import type { Caller } from '#contracts/audit.js';
import { checkAuditChain } from '#database/audit-chain.js';
import { connectPg, type PgConnection } from '#database/pg-connection.js';
import { createPrismaClient } from '#database/prisma-client.js';
import { createTestDatabase } from '#testing/test-database.js';

const MODEL = `INSERT INTO catalog.model VALUES ('m', true, 0, 'us', 0, 1000, 100, 100, '{text}', false, 1)`;
const UPSTREAM = `INSERT INTO catalog.upstream (id, enabled, position, kind, base_url, allow_private_network, capabilities, timeouts, connections_max)
  VALUES ('u', true, 0, 'openai-chat', 'https://h', false, '{}', '{}', 1)`;

/** The database refuses the commit of a change of the catalog without its audit row, and shows changes of the journal. */
const database = await createTestDatabase();
const owner = await connectPg({ url: database.url, applicationName: 'test-owner' });
const service = await connectPg({ url: database.serviceUrls.catalog, applicationName: 'test' });
await tamper(MODEL, UPSTREAM);
const prisma = createPrismaClient({ url: database.serviceUrls.catalog, applicationName: 'test' });
afterAll(async () => {
  await Promise.all([owner.end(), service.end(), prisma.$disconnect()]);
  await database.drop();
});

const CALLER: Caller = { actor: 'cli/ann@host', actorName: null, via: 'cli', ip: null, requestId: null };
const record = (connection: PgConnection, target: string) =>
  connection.query(`SELECT catalog.record_audit($1, 'test', NULL, $2, NULL, NULL, NULL)`, [CALLER, target]);

/** Changes rows as the owner, with all triggers off. */
async function tamper(...statements: string[]): Promise<void> {
  await owner.query('SET session_replication_role = replica');
  for (const statement of statements) await owner.query(statement);
  await owner.query('SET session_replication_role = DEFAULT');
}

const CHANGES = {
  state: 'UPDATE catalog.state SET revision = revision + 1',
  upstream: 'UPDATE catalog.upstream SET position = 7',
  model: 'UPDATE catalog.model SET position = 7',
  price: `INSERT INTO catalog.price (model_id, version, input_price, cached_input_price, output_price) VALUES ('m', 1, 1, 1, 1)`,
  route: `INSERT INTO catalog.route (model_id, upstream_id, upstream_model, enabled, position, weight, priority)
    VALUES ('m', 'u', 'm', true, 0, 1, 0)`,
  route_cost: `INSERT INTO catalog.route_cost (model_id, upstream_id, from_day, price) VALUES ('m', 'u', '2027-01-31', NULL)`,
  price_plan: `INSERT INTO catalog.price_plan (id, enabled, position, discount_percent, models) VALUES ('p', true, 0, 10, '[]')`,
};

test.each(Object.entries(CHANGES))('catalog.%s: a change is refused without an audit row of the revision', async (table, sql) => {
  const trigger = `${table}_is_audited`;
  await service.query('BEGIN');
  await service.query(sql);
  await record(service, 'revision/77');
  await expect(service.query('COMMIT')).rejects.toMatchObject({ code: '23514', constraint: trigger });

  await owner.query('BEGIN');
  await owner.query(`DROP TRIGGER ${trigger} ON catalog.${table}`);
  await owner.query(sql);
  await owner.query('SET CONSTRAINTS ALL IMMEDIATE');
  await owner.query('ROLLBACK');

  await owner.query('BEGIN');
  await owner.query(sql);
  await record(owner, `revision/${table === 'state' ? 1 : 0}`);
  await owner.query('SET CONSTRAINTS ALL IMMEDIATE');
  await owner.query('ROLLBACK');
});

const PRICE = '0190a6f0-7c1e-7000-8000-000000000001';
const SCHEDULE = `INSERT INTO catalog.scheduled_price (id, model_id, input_price, cached_input_price, output_price, effective_at)
  VALUES ('${PRICE}', 'm', 1, 1, 1, 'infinity')`;

test.each([
  ['scheduled', SCHEDULE, 'price/0190a6f0-7c1e-7000-8000-000000000002'],
  ['applied', 'UPDATE catalog.scheduled_price SET revision = 7', 'revision/8'],
  ['cancelled', 'UPDATE catalog.scheduled_price SET cancelled_at = now()', 'revision/7'],
])('a price that is %s is refused without an audit row of it or its revision', async (what, sql, other) => {
  await tamper('DELETE FROM catalog.scheduled_price', ...(what === 'scheduled' ? [] : [SCHEDULE]));

  await service.query('BEGIN');
  await service.query(sql);
  await record(service, other);
  await expect(service.query('COMMIT')).rejects.toMatchObject({ code: '23514', constraint: 'scheduled_price_is_audited' });

  for (const target of what === 'applied' ? ['revision/7', `price/${PRICE}`] : [`price/${PRICE}`]) {
    await service.query('BEGIN');
    await service.query(sql);
    await record(service, target);
    await service.query('SET CONSTRAINTS ALL IMMEDIATE');
    await service.query('ROLLBACK');
  }
});

test.each([
  ['permission denied', 'DELETE FROM catalog.scheduled_price'],
  ['permission denied', 'UPDATE catalog.scheduled_price SET effective_at = now()'],
  ['permission denied', 'UPDATE catalog.scheduled_price SET input_price = 0'],
  ['permission denied', 'DELETE FROM catalog.revision_text'],
  ['permission denied', 'DELETE FROM catalog.price_plan'],
])('%s for the service: %s', async (message, sql) => {
  await expect(service.query(sql)).rejects.toThrow(message);
});

test('the service may not change the journal, and the check finds a change by the owner', async () => {
  await record(service, 'revision/0');
  for (const statement of [
    `UPDATE catalog.audit SET actor = 'x'`,
    'DELETE FROM catalog.audit',
    'DELETE FROM catalog.audit_link',
    'UPDATE catalog.audit_head SET sequence = 0',
  ]) {
    await expect(service.query(statement)).rejects.toMatchObject({ code: '42501' });
  }
  await expect(owner.query(`UPDATE catalog.audit SET actor = 'x'`)).rejects.toMatchObject({ code: '23001' });
  const sound = await checkAuditChain(prisma, 'catalog');
  expect(sound).toEqual({ entries: 1, digest: expect.stringMatching(/^[0-9a-f]{64}$/), faults: [] });

  await tamper(`UPDATE catalog.audit SET actor = 'x'`);
  const { rows } = await owner.query<{ id: string }>('SELECT id::text FROM catalog.audit');
  expect(await checkAuditChain(prisma, 'catalog')).toEqual({ ...sound, faults: rows.map(({ id }) => id) });
});
