import pg from 'pg';

const OUTCOMES = ['200', '429 concurrency_limit', '503 model_unavailable'];
const POLL_MS = 1_000;

/**
 * Fills the recorded traffic of whole days with about `rows` rows, in the order of time as the recorder does: each hour, account and model
 * has three outcomes, and percentiles spread over as many buckets as there are rows for. `databaseUrl` is that of the owner.
 *
 * @param {string} databaseUrl @param {number} rows
 * @param {{ accounts: { accountId: string, projectId: string, keyId: string }[], models: string[], from: number, days: number }} shape
 * @returns {Promise<number>} the rows that there are
 */
export async function seedTraffic(databaseUrl, rows, { accounts, models, from, days }) {
  const ofOne = rows / (days * 24 * accounts.length * models.length);
  const buckets = Math.max(1, Math.round((ofOne - OUTCOMES.length) / 2));
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (let day = 0; day < days; day++) {
      await client.query(
        `INSERT INTO activity.traffic_hour (account_id, at, project_id, key_id, model, property, value, requests)
         SELECT one.account, $1::timestamptz + hour * interval '1 hour', one.project, one.key, model, fact.property, fact.value, 1 + (hour * 7) % 20
         FROM generate_series(0, 23) hour, unnest($2::uuid[], $3::uuid[], $4::uuid[]) one (account, project, key), unnest($5::text[]) model,
              (SELECT 'outcome', unnest($6::text[])
               UNION ALL SELECT property, bucket::text FROM (VALUES ('first-content', 45), ('duration', 60)) histogram (property, low),
                                                            generate_series(low, low + $7::integer - 1) bucket) fact (property, value)
         ORDER BY 2`,
        [
          new Date(from + day * 86_400_000),
          ...['accountId', 'projectId', 'keyId'].map((kind) => accounts.map((one) => one[/** @type {'accountId'} */ (kind)])),
          models,
          OUTCOMES,
          buckets,
        ],
      );
    }
    await client.query('VACUUM ANALYZE activity.traffic_hour');
    // Else the next measurement pays for writing the rows.
    await client.query('CHECKPOINT');
    const { rows: counted } = await client.query('SELECT count(*)::int AS present FROM activity.traffic_hour');
    return counted[0].present;
  } finally {
    await client.end();
  }
}

/**
 * Resolves when the panel has added up the hours of all days before `end` that are due.
 *
 * @param {string} databaseUrl @param {number} end
 */
export async function untilAddedUp(databaseUrl, end) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (;;) {
      const { rows } = await client.query('SELECT max(at) AS last FROM activity.traffic_day');
      // The two days before today are not due.
      if (rows[0].last?.getTime() >= end - 3 * 86_400_000) return;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    await client.end();
  }
}
