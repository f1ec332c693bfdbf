import type { EventEmitter } from 'node:events';
import type { Duplex } from 'node:stream';
import pg from 'pg';
import { serverUrls } from './postgres-url.js';

/** SQLSTATE `read_only_sql_transaction`: the server has become a standby, or refuses writes. */
const READ_ONLY = '25006';

/** Thrown for a server that cannot be written to. */
class NotPrimaryError extends Error {
  override readonly name = 'NotPrimaryError';
  readonly code = READ_ONLY;

  constructor() {
    super('the server is a standby or read-only');
  }
}

interface Server {
  url: string;
  /** `host:port`. */
  name: string;
  /** Reason of its last refusal, until it accepts a connection. */
  fault: string | undefined;
}

/** The servers of one URL, one of which is the primary. All connections of this process with this URL use the same one. */
class Servers {
  private static readonly byUrl = new Map<string, Servers>();
  readonly connections = new Set<PrimaryClient>();
  private readonly all: readonly Server[];
  private position = 0;

  private constructor(url: string) {
    this.all = serverUrls(url).map((one) => ({ url: one, name: parseName(one), fault: undefined }));
  }

  static of(url: string): Servers {
    const servers = Servers.byUrl.get(url) ?? new Servers(url);
    Servers.byUrl.set(url, servers);
    return servers;
  }

  get count(): number {
    return this.all.length;
  }

  get current(): Server {
    return this.all[this.position] as Server;
  }

  get faults(): string | undefined {
    const faults = this.all.flatMap(({ name, fault }) => (fault === undefined ? [] : `${name}: ${fault}`));
    return faults.length > 0 ? faults.join('; ') : undefined;
  }

  /** Makes the next server the current one, unless another connection has done so. */
  leave(server: Server, error: Error): void {
    server.fault = describeError(error);
    if (server === this.current) this.position = (this.position + 1) % this.all.length;
  }

  /** Leaves a server that has turned read-only, and drops all connections to it. */
  drop(server: Server): void {
    const error = new NotPrimaryError();
    this.leave(server, error);
    for (const one of this.connections) if (one.server === server) one.wire.stream.destroy(error);
  }
}

/**
 * A connection to the server that takes writes. `connectPrimary` or `accept` must approve it after it has connected. A refused connection
 * makes the next one try the next host of the URL, or the new address of the only one. When the server turns read-only, all connections to
 * it are dropped; one that shuts down ends them by itself.
 */
export class PrimaryClient extends pg.Client {
  /** True when a pooler is between this client and the server: the session has another process than the server announced. */
  isPooled = false;
  readonly server: Server;
  private readonly servers: Servers;
  private state: 'new' | 'accepted' | 'refused' = 'new';

  constructor(options: pg.ClientConfig = {}) {
    const servers = Servers.of(options.connectionString ?? '');
    const server = servers.current;
    super({ ...options, connectionString: server.url });
    this.servers = servers;
    this.server = server;
    this.wire.on('error', (error: Error) => this.refused(error));
    this.wire.on('errorMessage', (error: Error & { code?: string }) => {
      if (this.state !== 'accepted') this.refused(error);
      else if (error.code === READ_ONLY) servers.drop(server);
    });
    this.wire.once('end', () => {
      servers.connections.delete(this);
      this.refused(new Error('the connection was closed'));
    });
  }

  /** Number of hosts in the URL. */
  get serverCount(): number {
    return this.servers.count;
  }

  /** Throws when the server is not the primary. */
  async accept(): Promise<void> {
    const { rows } = await this.query<{ readOnly: boolean; pid: number }>(
      `SELECT current_setting('transaction_read_only')::boolean AS "readOnly", pg_backend_pid() AS pid`,
    );
    const [session] = rows;
    if (session?.readOnly !== false) {
      const error = new NotPrimaryError();
      this.refused(error);
      throw error;
    }
    this.isPooled = session.pid !== (this as unknown as { processID: number }).processID;
    this.state = 'accepted';
    this.server.fault = undefined;
    this.servers.connections.add(this);
  }

  private refused(error: Error): void {
    if (this.state !== 'new') return;
    this.state = 'refused';
    this.servers.leave(this.server, error);
  }

  /** Protocol messages and socket of `pg`. */
  get wire(): EventEmitter & { stream: Duplex } {
    return (this as unknown as { connection: EventEmitter & { stream: Duplex } }).connection;
  }
}

/** Connects to the primary: tries each host of `connectionString` once, the last one that worked first. Throws the last error. */
export async function connectPrimary(options: pg.ClientConfig): Promise<PrimaryClient> {
  for (let attempt = 1; ; attempt++) {
    const client = new PrimaryClient(options);
    // The server may end the session before the caller listens, and an unhandled `error` ends the process.
    client.on('error', () => undefined);
    try {
      await client.connect();
      await client.accept();
      return client;
    } catch (error) {
      client.end().catch(() => undefined);
      if (attempt >= client.serverCount) throw error;
    }
  }
}

/** Drops all connections to the server in use of a URL, which has turned read-only. */
export function dropReadOnlyServer(url: string): void {
  const servers = Servers.of(url);
  servers.drop(servers.current);
}

/** Returns why each server of a URL refused its last connection, in one line. Undefined when none did. */
export function findServerFaults(url: string): string | undefined {
  return Servers.of(url).faults;
}

function parseName(url: string): string {
  return /^[^:]*:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(url)?.[1] ?? '';
}

/** The message of an `AggregateError`, one error for each address of a name, is empty. */
function describeError({ message, code }: Error & { code?: string }): string {
  return (message || code || 'no connection').replaceAll('\n', ' ');
}
