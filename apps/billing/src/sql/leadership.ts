import type { PgConnection } from '#database/pg-connection.js';

interface LeadershipOptions {
  /** Number of the advisory lock that the leader has. */
  lock: number;
  connect: () => Promise<PgConnection>;
  /** A suspended process keeps its session and so the lock: the server ends a session that is idle for so many milliseconds. Absent: never. */
  idleMs?: number;
  /** Called when the connection breaks while it is idle. */
  onLost?: (error: Error) => void;
}

/** Elects one of all replicas by an advisory lock, on a connection of its own. This replica leads while the connection lasts. */
export class Leadership {
  private current: PgConnection | undefined;
  private leading = false;

  constructor(private readonly options: LeadershipOptions) {}

  /** Returns the connection; opens it if there is none. */
  async connection(): Promise<PgConnection> {
    if (this.current) return this.current;
    const { connect, idleMs, onLost } = this.options;
    const connection = await connect();
    connection.on('error', (error) => {
      if (this.current !== connection) return;
      void this.close();
      onLost?.(error);
    });
    this.current = connection;
    if (idleMs !== undefined) await connection.query(`SET idle_session_timeout = ${idleMs}`);
    return connection;
  }

  /** True when this replica leads, or now begins to. */
  async lead(): Promise<boolean> {
    if (this.leading) return true;
    const connection = await this.connection();
    const { rows } = await connection.query<{ leading: boolean }>('SELECT pg_try_advisory_lock($1) AS leading', [this.options.lock]);
    this.leading = rows[0]?.leading === true;
    return this.leading;
  }

  /** Releases the lock to another replica, and keeps the connection. */
  async resign(): Promise<void> {
    if (!this.leading) return;
    this.leading = false;
    await this.current?.query('SELECT pg_advisory_unlock($1)', [this.options.lock]);
  }

  /** Closes the connection, and with it gives up the lock. The next round opens another one. */
  async close(): Promise<void> {
    const connection = this.current;
    this.current = undefined;
    this.leading = false;
    await connection?.end().catch(() => undefined);
  }
}
