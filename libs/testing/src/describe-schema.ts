import type pg from 'pg';

const OURS = `IN ('billing', 'journal', 'detached', 'catalog', 'panel', 'activity', 'payments')`;

/**
 * Schema, applied migrations and first rows. Indexes and keys of partitions have no names: Postgres and the migrations of version 0.1.0
 * choose them.
 */
const DESCRIPTION = `
  SELECT format('column %s %s %s %s %s %s %s', attrelid::regclass, row_number() OVER (PARTITION BY attrelid ORDER BY attnum), attname,
      format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attcollation::regcollation) AS line
    FROM pg_attribute JOIN pg_class c ON c.oid = attrelid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'p') AND relnamespace::regnamespace::text ${OURS}
  UNION ALL SELECT format('table %s %s %s %s', oid::regclass, relkind, reloptions, relacl)
    FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'S') AND relnamespace::regnamespace::text ${OURS}
  UNION ALL SELECT format('schema %s %s', nspname, nspacl) FROM pg_namespace WHERE nspname ${OURS}
  UNION ALL SELECT format('constraint %s %s %s %s', conrelid::regclass,
      CASE WHEN contype = 'p' AND connamespace = 'journal'::regnamespace THEN '' ELSE conname END, pg_get_constraintdef(oid), convalidated)
    FROM pg_constraint WHERE connamespace::regnamespace::text ${OURS} AND contype <> 't'
  UNION ALL SELECT format('index %s %s', CASE WHEN relnamespace = 'journal'::regnamespace
      THEN regexp_replace(pg_get_indexdef(indexrelid), 'INDEX \\S+', 'INDEX') ELSE pg_get_indexdef(indexrelid) END, indisvalid)
    FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relnamespace::regnamespace::text ${OURS}
  UNION ALL SELECT format('partition %s %s %s', inhparent::regclass, inhrelid::regclass, pg_get_expr(relpartbound, inhrelid))
    FROM pg_inherits JOIN pg_class ON oid = inhrelid WHERE relkind = 'r'
  UNION ALL SELECT format('trigger %s %s', pg_get_triggerdef(oid), tgenabled) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT format('function %s %s', pg_get_functiondef(oid), proacl) FROM pg_proc WHERE pronamespace::regnamespace::text ${OURS}
  UNION ALL SELECT format('migration %s', migration_name) FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL
  UNION ALL SELECT format('row %s %s %s %s', id, revision, start_file_digest, (SELECT to_jsonb(u) FROM billing.usage_state u)) FROM catalog.state
  UNION ALL SELECT format('row %s', to_jsonb(h)) FROM billing.audit_head h
  UNION ALL SELECT format('row %s', to_jsonb(h)) FROM catalog.audit_head h
  UNION ALL SELECT format('row %s', to_jsonb(h)) FROM panel.audit_head h
  UNION ALL SELECT format('row %s', to_jsonb(h)) FROM payments.audit_head h
  ORDER BY line`;

/** Describes the schema of a migrated database as Postgres sees it, one line for each part. */
export async function describeSchema(client: pg.Client): Promise<string[]> {
  return (await client.query<{ line: string }>(DESCRIPTION)).rows.map(({ line }) => line);
}
