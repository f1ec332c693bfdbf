import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '#config/load-config.js';
import { connectPrimary, type PrimaryClient } from './primary-client.js';

/** Milliseconds until a notification counts as lost. Postgres delivers it before it answers the statement after it. */
const HEARD_MS = 2_000;

/**
 * Throws a `ConfigError` when the URL leads to a pooler that gives a session another server process for each transaction. Session locks and
 * settings would then be lost. A pooler in session mode passes.
 *
 * A session that listens hears another one only if it keeps its process: a transaction pooler has no session to deliver the notification
 * to.
 */
export async function refuseTransactionPooler(url: string, applicationName: string): Promise<void> {
  const open: PrimaryClient[] = [];
  const connect = async (): Promise<PrimaryClient> => {
    const client = await connectPrimary({ connectionString: url, application_name: applicationName });
    open.push(client);
    return client;
  };
  try {
    const listener = await connect();
    if (!listener.isPooled) return;
    const channel = `tollgate_${randomUUID().replaceAll('-', '')}`;
    const heard = new Promise((resolve) => {
      listener.once('notification', () => resolve(true));
    });
    await listener.query(`LISTEN ${channel}`);
    await (await connect()).query(`NOTIFY ${channel}`);
    if (await Promise.race([heard, delay(HEARD_MS, false, { ref: false })])) return;
    throw new ConfigError(
      'DATABASE_URL: leads to a pooler in transaction mode, which breaks session locks: use Postgres itself, or a pooler in session mode',
    );
  } finally {
    await Promise.all(open.map((client) => client.end().catch(() => undefined)));
  }
}
