import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, connect, ErrorCode, Events, type NatsConnection, NatsError, type Status } from 'nats';
import type { Actor } from '#contracts/audit.js';
import type { Logger } from '#observability/logger.js';
import { MessagingError } from './messaging.js';
import { NatsMessaging } from './nats-messaging.js';
import { TIMEOUT_DEFAULT_MS } from './wire.js';

export interface ConnectOptions {
  /** `nats://host:port`; several are separated by commas. */
  url: string;
  user: string;
  password: string;
  /** Names the connection, the queue group and the inbox: `_INBOX.<service>.>` must be permitted to this user. */
  service: string;
  logger: Logger;
  /** Actor of every call that names none. Default: none. */
  actor?: Actor;
  /** Default 5,000. */
  requestTimeoutMs?: number;
  /** For commands: gives up the first connection after this long, and at once on refused credentials. Absent: tries without limit. */
  connectTimeoutMs?: number;
  /** The largest request or reply accepted. Default 16 MiB. */
  payloadBytesMax?: number;
  /** Milliseconds that `close` waits for running calls and streams. Default 5,000. */
  closeGraceMs?: number;
  /** Milliseconds for which calls and streams outlive a lost connection or a change of the cluster. 0: they fail at once. Default 5,000. */
  resumeMs?: number;
}

const PAYLOAD_BYTES_MAX = 16 * 1024 * 1024;
const CLOSE_GRACE_MS = 5_000;
const RESUME_MS = 5_000;
/** Spreads the clients of a server that drains. It gives them ten seconds before it closes the first connection. */
const MOVE_JITTER_MS = 1_000;
const RETRY_MS = 250;
const RETRY_JITTER_MS = 200;
const DIAL_TIMEOUT_MS = 5_000;
/** Two unanswered pings end a dead connection. */
const PING_INTERVAL_MS = 10_000;

/**
 * Connects to NATS and reconnects without limit. Logs each kind of failure once. Throws `MessagingError('unavailable')` only with
 * `connectTimeoutMs`.
 */
export async function connectMessaging(options: ConnectOptions): Promise<NatsMessaging> {
  const { logger, service } = options;
  const log = new ConnectionLog(logger, options.user);
  const connection = await firstConnection(options, log);
  const messaging = new NatsMessaging(connection, {
    service,
    logger,
    actor: options.actor,
    requestTimeoutMs: options.requestTimeoutMs ?? TIMEOUT_DEFAULT_MS,
    payloadBytesMax: options.payloadBytesMax ?? PAYLOAD_BYTES_MAX,
    closeGraceMs: options.closeGraceMs ?? CLOSE_GRACE_MS,
    resumeMs: options.resumeMs ?? RESUME_MS,
  });
  void follow(connection, messaging, log, options);
  log.connected(connection);
  return messaging;
}

async function firstConnection(options: ConnectOptions, log: ConnectionLog): Promise<NatsConnection> {
  const giveUpAt = options.connectTimeoutMs === undefined ? undefined : Date.now() + options.connectTimeoutMs;
  for (;;) {
    try {
      return await connect(connectionOptions(options));
    } catch (error) {
      const code = error instanceof NatsError ? error.code : 'UNKNOWN';
      if (giveUpAt !== undefined && (isAuthenticationFailure(code) || Date.now() >= giveUpAt)) {
        throw new MessagingError('unavailable', log.describe(code), { cause: error });
      }
      log.failure(code);
      await delay(RETRY_MS + Math.random() * RETRY_JITTER_MS);
    }
  }
}

function connectionOptions({ url, user, password, service }: ConnectOptions): ConnectionOptions {
  return {
    servers: url.split(',').map((server) => server.trim()),
    user,
    pass: password,
    name: service,
    inboxPrefix: `_INBOX.${service}`,
    timeout: DIAL_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    reconnectJitter: RETRY_JITTER_MS,
    // A server refuses its users for a moment while its configuration changes.
    ignoreAuthErrorAbort: true,
    // The client's own resolver ignores /etc/hosts and search domains.
    resolve: false,
    noAsyncTraces: true,
  };
}

/** Reports every change of the connection to `messaging`, while it is in use. */
async function follow(connection: NatsConnection, messaging: NatsMessaging, log: ConnectionLog, options: ConnectOptions): Promise<void> {
  let servers = serversOf(connection);
  let isLeaving = false;
  for await (const status of connection.status() as AsyncIterable<
    Status & { permissionContext?: { operation: string; subject: string } }
  >) {
    if (messaging.link.connection !== connection) continue;
    switch (status.type) {
      case Events.Disconnect:
        messaging.connectionLost();
        log.lost();
        break;
      case Events.Reconnect:
        isLeaving = false;
        log.connected(connection);
        messaging.connectionRestored();
        break;
      case Events.Update:
        if (serversOf(connection) === servers) break;
        servers = serversOf(connection);
        messaging.link.clusterChanged();
        break;
      case Events.LDM:
        if (!isLeaving) void leave(connection, messaging, log, options);
        isLeaving = true;
        break;
      case Events.Error:
        log.failure(String(status.data), status.permissionContext);
        if (status.permissionContext?.operation === 'publish') messaging.publishRefused(status.permissionContext.subject);
        break;
      default:
        break;
    }
  }
}

/** The servers of the cluster that take clients, as the server of this connection reports them. */
function serversOf(connection: NatsConnection): string {
  return (connection.info?.connect_urls ?? []).toSorted().join();
}

/** Moves to another server, because the server of this connection drains (lame duck mode). */
async function leave(connection: NatsConnection, messaging: NatsMessaging, log: ConnectionLog, options: ConnectOptions): Promise<void> {
  log.draining();
  await delay(Math.random() * MOVE_JITTER_MS);
  // Without another server, the client reconnects when this one closes the connection.
  const isDraining = (): boolean => !messaging.isClosing && connection.info?.ldm === true;
  while (isDraining()) {
    const next = await connectElsewhere(connection, options);
    if (next === undefined) await delay(RETRY_MS);
    else {
      void follow(next, messaging, log, options);
      await messaging.link.moveTo(next);
      if (messaging.link.connection === next) log.connected(next);
      return;
    }
  }
}

/** Returns undefined when no server takes the connection. The draining server refuses it. */
async function connectElsewhere(connection: NatsConnection, options: ConnectOptions): Promise<NatsConnection | undefined> {
  const { servers, ...rest } = connectionOptions(options);
  try {
    return await connect({ ...rest, servers: [...(servers ?? []), ...(connection.info?.connect_urls ?? [])] });
  } catch {
    return undefined;
  }
}

function isAuthenticationFailure(code: string): boolean {
  return code === ErrorCode.AuthorizationViolation || code === ErrorCode.AuthenticationExpired || code === ErrorCode.AuthenticationTimeout;
}

/** Logs each kind of failure once, until the connection is restored. Never logs the URL, which may contain a password. */
class ConnectionLog {
  private readonly said = new Set<string>();

  constructor(
    private readonly logger: Logger,
    private readonly user: string,
  ) {}

  connected(connection: NatsConnection): void {
    this.said.clear();
    this.logger.info({ server: connection.getServer() }, 'connected to NATS');
  }

  draining(): void {
    this.logger.info('the NATS server drains; connecting to another');
  }

  lost(): void {
    if (this.once('lost')) this.logger.warn('connection to NATS lost; reconnecting');
  }

  failure(code: string, refused?: { operation: string; subject: string }): void {
    if (refused !== undefined) {
      // Inbox subjects are random: log their prefix, once.
      const subject = refused.subject.replace(/^(_INBOX\.[^.]+)\..*/, '$1.>');
      if (this.once(`${refused.operation} ${subject}`)) {
        this.logger.error({ user: this.user, operation: refused.operation, subject }, 'NATS permission denied');
      }
      return;
    }
    if (this.once(code)) this.logger.error({ code }, this.describe(code));
  }

  describe(code: string): string {
    if (isAuthenticationFailure(code)) return `NATS authentication failed for user "${this.user}": wrong user or password`;
    if (code === ErrorCode.ConnectionRefused) return 'connection to NATS refused: no server at this address';
    return `no connection to NATS: ${code}`;
  }

  private once(what: string): boolean {
    if (this.said.has(what)) return false;
    this.said.add(what);
    return true;
  }
}
