import type { Socket } from 'node:net';
import { Connection } from './connection.js';

/**
 * The open client connections, limited in number. At the limit, a new connection replaces the oldest one that never carried a valid key,
 * else the one that is idle for longest, so that unused connections cannot exclude other clients. Running requests with a valid key are
 * never cut.
 */
export class Connections {
  private readonly open = new Map<Socket, Connection>();
  /** Oldest first. Includes connections whose first request with a valid key is still running. */
  private readonly withoutKey = new Set<Connection>();
  /** Longest idle first. */
  private readonly idle = new Set<Connection>();

  private readonly pipelined = { waiting: 0 };

  constructor(private readonly connectionsMax: number) {}

  get count(): number {
    return this.open.size;
  }

  sockets(): Iterable<Socket> {
    return this.open.keys();
  }

  /** Returns undefined when the connection is closed. */
  get(socket: Socket): Connection | undefined {
    return this.open.get(socket);
  }

  add(socket: Socket): void {
    if (this.open.size >= this.connectionsMax && !this.replaceOne()) {
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, this.pipelined);
    this.open.set(socket, connection);
    this.withoutKey.add(connection);
    socket.once('close', () => this.remove(connection));
  }

  /** Call when a connection starts to serve a request. */
  started(connection: Connection): void {
    if (connection.hasHadKey) this.idle.delete(connection);
  }

  /** Call when the reply to the current request has closed. */
  answered(connection: Connection): void {
    if (connection.current?.caller) this.recognize(connection);
    if (connection.hasHadKey && !connection.socket.destroyed) this.idle.add(connection);
    connection.answered();
  }

  /** Closes one connection. Returns false when all of them serve requests with a valid key. */
  private replaceOne(): boolean {
    for (const connection of this.withoutKey) {
      if (connection.current?.caller) this.recognize(connection);
      else return this.close(connection);
    }
    const [longestIdle] = this.idle;
    return longestIdle !== undefined && this.close(longestIdle);
  }

  private recognize(connection: Connection): void {
    connection.hasHadKey = true;
    this.withoutKey.delete(connection);
  }

  private close(connection: Connection): true {
    this.remove(connection);
    connection.socket.destroy();
    return true;
  }

  private remove(connection: Connection): void {
    this.open.delete(connection.socket);
    this.withoutKey.delete(connection);
    this.idle.delete(connection);
  }
}
