import pg from 'pg';

/** Rows of one statement. */
const STEP = 100_000;

/**
 * Fills the journal up to `count` settlements with copies of one that costs nothing, under ids of the past, and brings statistics up to
 * date. The ledger stays right.
 *
 * @param {string} databaseUrl of the owner @param {number} count
 */
export async function seedSettlements(databaseUrl, count) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query('SELECT count(*)::int AS present FROM billing.settlement');
    for (let from = rows[0].present; from < count; from += STEP) await client.query(COPY, [from, Math.min(STEP, count - from)]);
    if (count > rows[0].present) await client.query('VACUUM ANALYZE billing.settlement');
  } finally {
    await client.end();
  }
}

/** Ids are UUIDv7 of one millisecond each, from September 2020 on. */
const COPY = `
  INSERT INTO billing.settlement
  SELECT (jsonb_populate_record(one.row, jsonb_build_object(
    'hold_id', lpad(to_hex(1600000000000 + number), 12, '0') || '7000800000000000' || lpad(to_hex(number % 65536), 4, '0'),
    'request_id', 'seeded-' || number,
    'cost', 0, 'plan_cost', 0, 'topup_cost', 0, 'ended_cost', 0, 'forfeit', 0, 'over', 0,
    'prompt_tokens', 0, 'cached_tokens', 0, 'output_tokens', 0, 'reasoning_tokens', 0,
    'settled_at', to_timestamp((1600000000000 + number) / 1000.0)
  ))).*
  FROM (SELECT settlement AS row FROM billing.settlement LIMIT 1) one, generate_series($1::bigint, $1::bigint + $2::bigint - 1) number`;
