import type { PgConnection } from '#database/pg-connection.js';

/** Tables that are distributed, each with the column of the account. `api_key`, `movement` and `webhook`, whose keys are global, are not. */
export const DISTRIBUTED: Record<string, string> = {
  account: 'id',
  project: 'account_id',
  budget: 'account_id',
  budget_value: 'account_id',
  rate_limit: 'account_id',
  hold: 'account_id',
  settlement: 'account_id',
  late_settlement: 'account_id',
  money_event: 'account_id',
  webhook_delivery: 'account_id',
  plan_subscription: 'account_id',
  usage_hour: 'account_id',
  usage_day: 'account_id',
};
const SHARDS = 8;

/** The functions that know the keys: a hold is known by its account and id. */
const FUNCTIONS = [
  `CREATE OR REPLACE FUNCTION billing.demand_new(reserved uuid[], reserved_of uuid[], refused uuid[], refused_of uuid[])
  RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM unnest(reserved, reserved_of) AS r (hold_id, payer_id),
      LATERAL (SELECT FROM billing.settlement WHERE hold_id = r.hold_id AND account_id = r.payer_id LIMIT 1) AS s
  ) OR EXISTS (
    SELECT FROM unnest(refused, refused_of) AS r (hold_id, payer_id),
      LATERAL (SELECT FROM billing.hold WHERE id = r.hold_id AND account_id = r.payer_id LIMIT 1) AS h
  ) THEN
    RAISE EXCEPTION 'billing: a reserve was decided before' USING ERRCODE = 'assert_failure';
  END IF;
  RETURN true;
END
$$`,
  `CREATE OR REPLACE FUNCTION billing.used_elsewhere(holds uuid[], accounts uuid[]) RETURNS SETOF uuid LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN;
END
$$`,
];

/** Texts that make the constraints, indexes and triggers of a table. */
interface Parts {
  table: string;
  keys: string[];
  foreignKeys: string[];
  others: string[];
}

/**
 * Replaces the tables of an empty database by tables of hash partitions that stand for shards, `hold_0` to `hold_7`: with the same columns,
 * constraints, indexes and triggers, but with the account in every primary and unique key. Foreign keys of the other tables, `api_key`, `movement`
 * and `dead_letter`, go, and `FUNCTIONS` replace those of one database.
 */
export async function distributeByAccount(sql: PgConnection): Promise<void> {
  const parts: Parts[] = [];
  for (const table of Object.keys(DISTRIBUTED)) parts.push(await readParts(sql, table));
  for (const { table } of parts) {
    await sql.query(`ALTER TABLE billing.${table} RENAME TO ${table}_plain`);
    await sql.query(`CREATE TABLE billing.${table} (LIKE billing.${table}_plain INCLUDING ALL EXCLUDING INDEXES)
      PARTITION BY HASH (${DISTRIBUTED[table]})`);
    for (let shard = 0; shard < SHARDS; shard++)
      await sql.query(`CREATE TABLE billing.${table}_${shard} PARTITION OF billing.${table}
        FOR VALUES WITH (MODULUS ${SHARDS}, REMAINDER ${shard})`);
  }
  await sql.query(`DROP TABLE ${parts.map(({ table }) => `billing.${table}_plain`).join(', ')} CASCADE`);
  for (const { table, keys } of parts) for (const key of keys) await sql.query(`ALTER TABLE billing.${table} ADD ${key}`);
  for (const { table, foreignKeys } of parts) for (const key of foreignKeys) await sql.query(`ALTER TABLE billing.${table} ADD ${key}`);
  for (const { others } of parts) for (const statement of others) await sql.query(statement);
  for (const statement of FUNCTIONS) await sql.query(statement);
}

async function readParts(sql: PgConnection, table: string): Promise<Parts> {
  const texts = async (query: string): Promise<string[]> => (await sql.query(query)).rows.map(({ text }) => text as string);
  const ofTable = `= 'billing.${table}'::regclass`;
  const constraints = (kinds: string) =>
    texts(`SELECT 'CONSTRAINT ' || conname || ' ' || pg_get_constraintdef(oid) AS text FROM pg_constraint
      WHERE conrelid ${ofTable} AND contype IN (${kinds})`);
  const indexes = await texts(`SELECT pg_get_indexdef(indexrelid) AS text FROM pg_index
    WHERE indrelid ${ofTable} AND indexrelid NOT IN (SELECT conindid FROM pg_constraint WHERE conrelid ${ofTable})`);
  return {
    table,
    keys: (await constraints("'p', 'u'")).map((text) => withAccount(text, DISTRIBUTED[table] ?? '')),
    foreignKeys: [...(await constraints("'f'")), ...(await readMonthForeignKeys(sql, table))].map(foreignKeyWithAccount),
    others: [
      ...indexes.map((text) => (text.startsWith('CREATE UNIQUE') ? withAccount(text, DISTRIBUTED[table] ?? '') : text)),
      ...(await texts(`SELECT pg_get_triggerdef(oid) AS text FROM pg_trigger WHERE tgrelid ${ofTable} AND NOT tgisinternal`)),
    ],
  };
}

/** Foreign keys between the partitions of the same month, which stand for one between their tables. */
async function readMonthForeignKeys(sql: PgConnection, table: string): Promise<string[]> {
  const { rows } = await sql.query<{ text: string }>(
    `SELECT 'CONSTRAINT ' || conname || ' ' || replace(replace(pg_get_constraintdef(oid), 'journal.', 'billing.'), '_default(', '(') AS text
     FROM pg_constraint WHERE conrelid = to_regclass('journal.${table}_default') AND contype = 'f'`,
  );
  return rows.map(({ text }) => text);
}

/** Adds the account to the columns of a key. */
function withAccount(text: string, column: string): string {
  return text.replace(/\(([^)]*)\)/, (list, columns: string) => (columns.split(', ').includes(column) ? list : `(${column}, ${columns})`));
}

function foreignKeyWithAccount(text: string): string {
  return text.replace(/\((\w+)\) REFERENCES billing\.(\w+)\((\w+)\)/, (same, column: string, target: string, targetColumn: string) => {
    const account = DISTRIBUTED[target];
    if (account === undefined || account === targetColumn) return same;
    return `(account_id, ${column}) REFERENCES billing.${target}(${account}, ${targetColumn})`;
  });
}
