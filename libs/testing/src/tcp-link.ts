import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A network failure. `silence`: packets are lost without an error. `refusal`: connections are reset and new ones refused. */
export type Cut = 'silence' | 'refusal';

/** A TCP proxy between a service and a server that can be cut and restored. */
export class TcpLink {
  private readonly connections = new Set<Connection>();
  private cutNow: Cut | undefined;

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
  ) {
    server.on('connection', (socket) => this.accept(socket));
  }

  static async to(targetPort: number): Promise<TcpLink> {
    const server = createServer({ pauseOnConnect: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new TcpLink(server, targetPort);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Lasts until `restore`. */
  cut(how: Cut): void {
    this.cutNow = how;
    if (how === 'refusal') this.reset();
    for (const connection of this.connections) connection.hold();
  }

  /** After a `silence`, held bytes arrive, as TCP would retransmit them. */
  restore(): void {
    this.cutNow = undefined;
    for (const connection of this.connections) connection.release();
  }

  /** Resets every connection. New ones are accepted at once. */
  reset(): void {
    for (const connection of this.connections) connection.reset();
  }

  close(): void {
    this.server.close();
    this.reset();
  }

  private accept(socket: Socket): void {
    if (this.cutNow === 'refusal') {
      socket.resetAndDestroy();
      return;
    }
    const connection = new Connection(socket, connect({ port: this.targetPort, host: '127.0.0.1', noDelay: true }), () =>
      this.connections.delete(connection),
    );
    this.connections.add(connection);
    if (this.cutNow === 'silence') connection.hold();
    else connection.release();
  }
}

/** Both halves of one proxied connection. While it is held, neither notices the other, not even its end. */
class Connection {
  private held = false;
  private ended = false;

  constructor(
    private readonly near: Socket,
    private readonly far: Socket,
    private readonly onEnd: () => void,
  ) {
    near.setNoDelay(true);
    this.pass(near, far);
    this.pass(far, near);
  }

  hold(): void {
    this.held = true;
    this.near.pause();
    this.far.pause();
  }

  release(): void {
    this.held = false;
    if (this.ended) this.reset();
    else for (const socket of [this.near, this.far]) socket.resume();
  }

  reset(): void {
    this.near.resetAndDestroy();
    this.far.resetAndDestroy();
    this.onEnd();
  }

  private pass(from: Socket, to: Socket): void {
    from.on('data', (bytes) => {
      if (!to.write(bytes)) from.pause();
    });
    to.on('drain', () => this.held || from.resume());
    from.on('error', () => undefined); // `close` follows
    from.on('end', () => to.end());
    from.on('close', () => {
      this.ended = true;
      if (!this.held) this.endBoth(to);
    });
  }

  private endBoth(other: Socket): void {
    other.destroySoon();
    this.onEnd();
  }
}
