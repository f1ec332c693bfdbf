import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import type { Client } from 'pg';
import { serverUrls } from '#database/postgres-url.js';
import { connectPrimary } from '#database/primary-client.js';

export type DatabaseService = 'billing' | 'catalog' | 'panel' | 'payments';
type Schema = DatabaseService | 'activity';

export interface TableRights {
  select?: true;
  insert?: true;
  /** Columns that may be updated. */
  update?: string[];
  delete?: true;
}

/** Rights in a schema. */
interface SchemaGrants {
  /** The service that owns the schema, by default the one of the same name. */
  service?: DatabaseService;
  /** Settings of its sessions. */
  settings: Record<string, string>;
  functions: string[];
  tables: Record<string, TableRights>;
}

const SUMS = [
  'requests',
  'estimated_requests',
  'prompt_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'quantity',
  'cost',
  'forfeit',
  'last_at',
];

/**
 * Database rights of each service: least privilege, so that a bug or an intruder in a service cannot rewrite a journal, delete a price or
 * change the schema. Column lists limit an UPDATE. A new table or column needs an entry; a test compares this with the schema.
 */
export const GRANTS: Record<Schema, SchemaGrants> = {
  billing: {
    // Compiling a plan takes longer than the statements of billing.
    settings: { jit: 'off' },
    functions: [
      'billing.demand(boolean, text)',
      'billing.demand_new(uuid[], uuid[], uuid[], uuid[])',
      'billing.used_elsewhere(uuid[], uuid[])',
      'billing.keep_months(integer)',
      'billing.journal_digest(regclass, uuid)',
      'billing.detach_month(jsonb, bigint, bigint)',
      'billing.verify_month(text)',
      'billing.attach_month(text)',
      'billing.record_audit(jsonb, text, uuid, text, text, jsonb, jsonb)',
      'billing.audit_digest(bytea, billing.audit)',
    ],
    tables: {
      account: {
        select: true,
        insert: true,
        update: [
          'name',
          'status',
          'status_reason',
          'low_balance',
          'credit_line',
          'price_plan',
          'next_price_plan',
          'next_price_plan_from',
          'projects_max',
          'active_keys_max',
          'topup',
          'topup_held',
          'plan',
          'plan_held',
          'expired',
          'grant_id',
          'grant_ends_at',
          'open_holds',
        ],
      },
      project: {
        select: true,
        insert: true,
        update: ['name', 'enabled', 'requests_per_minute_max', 'concurrency_max', 'tags', 'policy', 'open_holds', 'request_window'],
      },
      api_key: {
        select: true,
        insert: true,
        update: ['name', 'note', 'disabled', 'expires_at', 'replaced_by', 'revoked_at', 'models', 'networks', 'revoked_children'],
      },
      hold: {
        select: true,
        insert: true,
        update: [
          'lease_until',
          'meter_sequence',
          'meter_prompt_tokens',
          'meter_cached_tokens',
          'meter_output_tokens',
          'meter_reasoning_tokens',
          'meter_cache_write_tokens',
          'meter_cache_write_1h_tokens',
          'meter_tier',
          'meter_quantity',
          'meter_prompt_source',
          'meter_output_source',
        ],
        delete: true,
      },
      budget: {
        select: true,
        insert: true,
        update: [
          'time_zone',
          'start_day',
          'limit_amount',
          'spent',
          'held',
          'window_start',
          'window_end',
          'thresholds',
          'passed',
          'set_by',
          'operator_limit',
        ],
        delete: true,
      },
      plan_subscription: { select: true, insert: true, update: ['amount', 'period', 'time_zone', 'due_at'], delete: true },
      budget_value: { select: true, insert: true, update: ['spent', 'held', 'own_limit'], delete: true },
      rate_limit: {
        select: true,
        insert: true,
        update: [
          'requests_per_minute_max',
          'concurrency_max',
          'tokens_per_minute_max',
          'open_holds',
          'request_window',
          'token_window',
          'model_limits',
          'model_windows',
          'operator_limits',
        ],
        delete: true,
      },
      service_use: { select: true, insert: true, update: ['day', 'spent', 'held', 'open_holds', 'day_max', 'open_holds_max'] },
      // Journals: the role and the triggers both refuse updates.
      settlement: { select: true, insert: true },
      late_settlement: { select: true, insert: true },
      movement: { select: true, insert: true },
      audit: { select: true, insert: true },
      // A trigger writes them, with the rights of the owner.
      audit_link: { select: true },
      audit_head: { select: true },
      // Sums of the journals, which a rebuild empties.
      usage_hour: { select: true, insert: true, update: SUMS, delete: true },
      usage_day: { select: true, insert: true, update: SUMS, delete: true },
      usage_state: { select: true, update: ['closed_to', 'system_identifier', 'closed_at', 'newest_at'] },
      // Closed months are never changed.
      month: { select: true, insert: true },
      month_account: { select: true, insert: true },
      month_grant: { select: true, insert: true },
      // Receipts of closed months, and what was signed.
      installation: { select: true },
      month_receipt: { select: true, insert: true },
      month_receipt_part: { select: true, insert: true },
      month_line: { select: true, insert: true },
      month_signature: { select: true, insert: true },
      receipt_key: { select: true, insert: true },
      // Detached and attached by functions, with the rights of the owner.
      detached_month: { select: true },
      detached_account: { select: true, insert: true },
      detached_grant: { select: true, insert: true },
      // The checkpoint of the scheduled ledger check.
      checkpoint: { select: true, insert: true, delete: true },
      checkpoint_account: { select: true, insert: true, update: ['closing', 'topup_closing', 'refundable'], delete: true },
      checkpoint_grant: { select: true, insert: true, update: ['amount', 'gone'], delete: true },
      ledger_report: { select: true, insert: true, delete: true },
      // The content of an event never changes.
      money_event: { select: true, insert: true, update: ['published_at'], delete: true },
      webhook: {
        select: true,
        insert: true,
        update: ['url', 'allow_private_network', 'format', 'muted_at', 'secret_version', 'previous_until'],
        delete: true,
      },
      managed: { select: true, insert: true, update: ['account_id', 'source'], delete: true },
      webhook_delivery: { select: true, insert: true, update: ['done', 'last', 'attempts', 'due_at', 'failure'], delete: true },
      dead_letter: { select: true, insert: true, delete: true },
      webhook_answer: { select: true, insert: true, update: ['attempts', 'answer', 'accepted', 'milliseconds', 'at'] },
    },
  },
  catalog: {
    settings: {},
    functions: ['catalog.record_audit(jsonb, text, uuid, text, text, jsonb, jsonb)', 'catalog.audit_digest(bytea, catalog.audit)'],
    tables: {
      state: { select: true, update: ['revision', 'start_file_digest', 'changed_at'] },
      upstream: {
        select: true,
        insert: true,
        update: [
          'enabled',
          'position',
          'kind',
          'base_url',
          'api_key_env',
          'api_key_file',
          'auth',
          'tls',
          'path',
          'query',
          'headers',
          'body',
          'allow_private_network',
          'capabilities',
          'timeouts',
          'connections_max',
          'health_check',
          'proxy',
        ],
      },
      model: {
        select: true,
        insert: true,
        update: [
          'enabled',
          'position',
          'owned_by',
          'display_name',
          'created',
          'context_tokens',
          'max_output_tokens',
          'default_output_tokens',
          'input',
          'reasoning',
          'tokens_per_image_max',
          'embedding_dimensions',
          'unit',
        ],
      },
      route: { select: true, insert: true, update: ['enabled', 'position', 'weight', 'priority', 'concurrency_max', 'capabilities'] },
      // A later apply of the same day replaces its cost price.
      route_cost: { select: true, insert: true, update: ['price'] },
      // The price of a running request never changes.
      price: { select: true, insert: true },
      price_plan: { select: true, insert: true, update: ['enabled', 'position', 'discount_percent', 'models'] },
      service: { select: true, insert: true, update: ['enabled', 'position', 'hold_max', 'day_max', 'open_holds_max'] },
      scheduled_price: { select: true, insert: true, update: ['revision', 'cancelled_at'] },
      revision_text: { select: true, insert: true, update: ['yaml'] },
      audit: { select: true, insert: true },
      // A trigger writes them, with the rights of the owner.
      audit_link: { select: true },
      audit_head: { select: true },
    },
  },
  panel: {
    settings: {},
    functions: ['panel.record_audit(jsonb, text, uuid, text, text, jsonb, jsonb)', 'panel.audit_digest(bytea, panel.audit)'],
    tables: {
      user: { select: true, insert: true, update: ['name', 'password_hash', 'password_proven', 'disabled_at'] },
      grant: { select: true, insert: true, update: ['role', 'issuer'], delete: true },
      identity: { select: true, insert: true },
      session: { select: true, insert: true, update: ['digest', 'confirmed_at', 'seen_at'], delete: true },
      invite: { select: true, insert: true, update: ['accepted_at', 'accepted_by'], delete: true },
      token: { select: true, insert: true, update: ['revoked_at', 'used_at'] },
      login_failure: { select: true, insert: true, delete: true },
      sign_in_address: { select: true, insert: true, update: ['at'], delete: true },
      second_factor: { select: true, insert: true, update: ['app_step', 'sign_count', 'used_at'], delete: true },
      recovery_code: { select: true, insert: true, delete: true },
      passkey_challenge: { select: true, insert: true, delete: true },
      statement_mail: { select: true, insert: true, update: ['sent_month', 'due_at'], delete: true },
      audit: { select: true, insert: true },
      // Written by triggers with the rights of the owner.
      audit_link: { select: true },
      audit_head: { select: true },
    },
  },
  payments: {
    settings: {},
    functions: ['payments.record_audit(jsonb, text, uuid, text, text, jsonb, jsonb)', 'payments.audit_digest(bytea, payments.audit)'],
    tables: {
      card: {
        select: true,
        insert: true,
        update: ['customer', 'payment_method', 'brand', 'last4', 'saved_at'],
        delete: true,
      },
      auto_topup: { select: true, insert: true, update: ['threshold', 'amount', 'monthly_cap', 'set_at'], delete: true },
      // What a charge is never changes: triggers refuse it too.
      charge: { select: true, insert: true, update: ['state', 'payment_id', 'fault'] },
      audit: { select: true, insert: true },
      // Written by triggers with the rights of the owner.
      audit_link: { select: true },
      audit_head: { select: true },
    },
  },
  // A second schema of the panel. Its function makes and drops partitions, and deletes old rows.
  activity: {
    service: 'panel',
    settings: {},
    functions: ['activity.keep_days(integer)'],
    tables: {
      request: { select: true, insert: true },
      traffic_minute: { select: true, insert: true, update: ['requests'] },
      traffic_hour: { select: true, insert: true, update: ['requests'] },
      // The sums of a day never change.
      traffic_day: { select: true, insert: true, delete: true },
      recording: { select: true, insert: true, update: ['ends_at'] },
    },
  },
};

/** Advisory lock of grant changes. */
const GRANTS_LOCK = 7_243_002;

/**
 * Creates the users in `urls`, `{ billing?: 'postgres://user:password@…', catalog?: …, … }`, with these passwords and the grants above, and
 * revokes all other grants. Skips a missing URL and that of the owner: a service may run as the owner, protected by triggers and
 * constraints alone.
 *
 * `ownerUrl` is the user that migrates. It needs CREATEROLE; without it the users must exist, with passwords of their own.
 * With `known`, the migrations of this version, it changes nothing when the database has others: a newer version has run, and this one would
 * revoke the grants that it does not know.
 *
 * Returns the names of the configured users.
 */
export async function ensureServiceRoles(
  ownerUrl: string,
  urls: Partial<Record<DatabaseService, string | undefined>>,
  { known }: { known?: string[] } = {},
): Promise<string[]> {
  const client = await connectPrimary({ connectionString: ownerUrl });
  const done = new Set<string>();
  try {
    await client.query('BEGIN');
    await client.query(`SELECT pg_advisory_xact_lock(${GRANTS_LOCK})`);
    if (known && (await hasNewer(client, known))) {
      console.log('database users: unchanged, because the database is newer than this version');
      return [];
    }
    const { rows } = await client.query<{ name: string; mayCreate: boolean }>(
      'SELECT current_user AS name, rolcreaterole OR rolsuper AS "mayCreate" FROM pg_roles WHERE rolname = current_user',
    );
    const [owner] = rows;
    for (const [schema, { service = schema as DatabaseService, settings, ...grants }] of Object.entries(GRANTS)) {
      const [url] = serverUrls(urls[service] ?? '');
      if (!url) continue;
      const { username, password } = new URL(url);
      const role = decodeURIComponent(username);
      if (role === owner?.name) continue;
      await ensureUser(client, { role, password: decodeURIComponent(password), mayCreate: owner?.mayCreate === true, settings });
      await grant(client, { schema, role, ...grants });
      done.add(role);
    }
    await client.query('COMMIT');
  } finally {
    await client.end();
  }
  return [...done];
}

async function hasNewer(client: Client, known: string[]): Promise<boolean> {
  const sql = 'SELECT 1 FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL AND migration_name <> ALL ($1)';
  return (await client.query(sql, [known])).rows.length > 0;
}

async function ensureUser(
  client: Client,
  { role, password, mayCreate, settings }: { role: string; password: string; mayCreate: boolean; settings: Record<string, string> },
): Promise<void> {
  const { rowCount: exists } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [role]);
  if (!mayCreate) {
    if (exists) return;
    throw new Error(`the database has no user ${role}, and the migrating user may not create it: create it, or grant CREATEROLE`);
  }
  if (!exists) await client.query(`CREATE ROLE ${quote(role)}`);
  await client.query(`ALTER ROLE ${quote(role)} LOGIN NOCREATEDB NOCREATEROLE PASSWORD '${scramVerifier(password)}'`);
  for (const [name, value] of Object.entries(settings)) await client.query(`ALTER ROLE ${quote(role)} SET ${name} = ${value}`);
}

async function grant(
  client: Client,
  { schema, role, tables, functions }: { schema: string; role: string } & Pick<SchemaGrants, 'tables' | 'functions'>,
): Promise<void> {
  const to = quote(role);
  await client.query(`REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${to}`); // columns too
  await client.query(`GRANT USAGE ON SCHEMA ${schema} TO ${to}`);
  for (const [table, rights] of Object.entries(tables)) await client.query(`GRANT ${privileges(rights)} ON ${schema}.${table} TO ${to}`);
  // Readiness checks compare the applied migrations with those of the service.
  await client.query(`GRANT SELECT (migration_name, finished_at, rolled_back_at) ON public._prisma_migrations TO ${to}`);
  for (const name of functions) await client.query(`GRANT EXECUTE ON FUNCTION ${name} TO ${to}`);
}

function privileges(rights: TableRights): string {
  return Object.entries(rights)
    .map(([right, columns]) => (Array.isArray(columns) ? `${right} (${columns.join(', ')})` : right))
    .join(', ');
}

/** The stored form of a password (RFC 5803), computed here so that no statement or server log contains the password. */
function scramVerifier(password: string): string {
  const iterations = 4096;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, iterations, 32, 'sha256');
  const key = (name: string): Buffer => createHmac('sha256', salted).update(name).digest();
  const stored = createHash('sha256').update(key('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${key('Server Key').toString('base64')}`;
}

function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}
