import pg from 'pg';

/** Rows of one statement. */
const STEP = 100_000;
const NOTHING = [
  'cost',
  'plan_cost',
  'topup_cost',
  'ended_cost',
  'forfeit',
  'over',
  'prompt_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
];
/** Ids are UUIDv7 of one millisecond each, from September 2020 on. */
const AT = '(1600000000000 + number)';

interface SeedOptions {
  /** SQL expressions of `number`, the number of the row, that replace those of the copied row. */
  columns?: Record<string, string>;
  /** SQL expression of the time of a row, which must grow with the number. */
  millisecond?: string;
}

/**
 * Fills the journal up to `count` settlements with copies of one that costs nothing, and brings statistics up to date. The ledger stays
 * right. `databaseUrl` is that of the owner.
 */
export async function seedSettlements(
  databaseUrl: string,
  count: number,
  { columns = {}, millisecond = AT }: SeedOptions = {},
): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT count(*)::int AS present FROM billing.settlement');
    const copy = await copyStatement(client, {
      hold_id: `(lpad(to_hex(${millisecond}), 12, '0') || '70008000' || lpad(to_hex(number), 12, '0'))::uuid`,
      request_id: "'seeded-' || number",
      settled_at: `to_timestamp(${millisecond} / 1000.0)`,
      ...Object.fromEntries(NOTHING.map((name) => [name, '0'])),
      ...columns,
    });
    for (let from = rows[0].present; from < count; from += STEP) await client.query(copy, [from, Math.min(STEP, count - from)]);
    if (count <= rows[0].present) return;
    await client.query('VACUUM ANALYZE billing.settlement');
    // Else the next measurement pays for writing the copies.
    await client.query('CHECKPOINT');
  } finally {
    await client.end();
  }
}

async function copyStatement(client: pg.Client, columns: Record<string, string>): Promise<string> {
  const { rows } = await client.query<{ name: string }>(`
    SELECT quote_ident(column_name) AS name FROM information_schema.columns
    WHERE table_schema = 'billing' AND table_name = 'settlement' AND column_name <> 'transaction_id'`);
  const names = rows.map(({ name }) => name);
  return `
    INSERT INTO billing.settlement (${names.join(', ')})
    SELECT ${names.map((name) => columns[name] ?? `one.${name}`).join(', ')}
    FROM (SELECT * FROM billing.settlement LIMIT 1) one, generate_series($1::bigint, $1::bigint + $2::bigint - 1) number`;
}
