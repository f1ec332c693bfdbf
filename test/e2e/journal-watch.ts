import pg from 'pg';

/** Columns of `billing.project` that requests to models change. */
const TRAFFIC = "'{open_holds,request_window,version}'";

/** Tables that only operators and people change. Requests to models and rounds of the services leave them alone. */
const TABLES = [
  ...['project', 'api_key', 'movement', 'plan_subscription', 'webhook', 'month', 'detached_month'].map((name) => `billing.${name}`),
  ...['model', 'price', 'price_plan', 'revision_text', 'route', 'route_cost', 'scheduled_price', 'upstream'].map(
    (name) => `catalog.${name}`,
  ),
  ...['card', 'auto_topup', 'charge'].map((name) => `payments.${name}`),
  ...['user', 'grant', 'identity', 'invite', 'token'].map((name) => `panel."${name}"`),
];
const JOURNALS = ['billing', 'catalog', 'panel', 'payments'];

/** The row of a journal that a call has written. */
export interface WrittenRow {
  action: string;
  actor: string;
  via: string | null;
}

/** Outcome of a call: its rows in the journals, and the tables that it changed. */
export interface Effect {
  rows: WrittenRow[];
  changed: string[];
}

/** Watches the journals and the tables of a running system. */
export class JournalWatch {
  private readonly database: pg.Client;

  constructor(connectionString: string) {
    this.database = new pg.Client({ connectionString });
  }

  async open(): Promise<this> {
    await this.database.connect();
    return this;
  }

  close(): Promise<void> {
    return this.database.end();
  }

  /** Runs a call and returns its effect. Rows that services write by themselves do not count. */
  async during<Result>(call: () => Promise<Result>, isOurs: (row: WrittenRow) => boolean): Promise<Effect & { result: Result }> {
    const before = await this.state();
    const result = await call();
    const after = await this.state();
    const rows = after.rows.filter(({ id }) => !before.ids.has(id)).map(({ id: _, ...row }) => row);
    const changed = TABLES.filter((table) => before.digests[table] !== after.digests[table]);
    return { result, rows: rows.filter(isOurs), changed };
  }

  private async state() {
    const digests = TABLES.map(
      (table) =>
        `SELECT '${table}' AS name, md5(string_agg((to_jsonb(t) - ${TRAFFIC}::text[])::text, '|' ORDER BY to_jsonb(t) - ${TRAFFIC}::text[])) AS digest FROM ${table} t`,
    );
    const journals = JOURNALS.map((journal) => `SELECT id, action, actor, via FROM ${journal}.audit`);
    const tables = await this.database.query<{ name: string; digest: string }>(digests.join(' UNION ALL '));
    const { rows } = await this.database.query<WrittenRow & { id: string }>(`${journals.join(' UNION ALL ')} ORDER BY id`);
    return {
      digests: Object.fromEntries(tables.rows.map(({ name, digest }) => [name, digest])),
      rows,
      ids: new Set(rows.map(({ id }) => id)),
    };
  }
}
