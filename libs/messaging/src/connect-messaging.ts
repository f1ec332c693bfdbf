import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, connect, Events, type NatsConnection, type Status } from 'nats';
import { Registry } from 'prom-client';
import type { Actor } from '#contracts/audit.js';
import type { Logger } from '#observability/logger.js';
import { MessagingError } from './messaging.js';
import { accessOptions, checkAccess, describeFailure, isAuthenticationFailure, type NatsAccess, summarizeFailure } from './nats-access.js';
import { NatsMessaging } from './nats-messaging.js';
import { createNatsMetrics, type NatsMetrics } from './nats-metrics.js';
import { TIMEOUT_DEFAULT_MS } from './wire.js';

export interface ConnectOptions extends NatsAccess {
  /** Names the connection, the queue group and the inbox: `_INBOX.<service>.>` must be permitted to this user. */
  service: string;
  logger: Logger;
  /** Gets the metrics of the connection. Default: they are not kept. */
  registry?: Registry;
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
/** Longer than a restart of the server. */
const EXPLAIN_MS = 2_000;
/** Two unanswered pings end a dead connection. */
const PING_INTERVAL_MS = 10_000;

/**
 * Connects to NATS and reconnects without limit. Logs each kind of failure once. Throws `MessagingError('unavailable')` only with
 * `connectTimeoutMs`, and `ConfigError` for files and seeds that cannot be used.
 */
export async function connectMessaging(options: ConnectOptions): Promise<NatsMessaging> {
  const { logger, service } = options;
  checkAccess(options);
  const metrics = createNatsMetrics(options.registry ?? new Registry());
  const log = new ConnectionLog(logger, options, metrics);
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
  metrics.watch(messaging);
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
      const failure = summarizeFailure(error);
      if (giveUpAt !== undefined && (isAuthenticationFailure(failure.code) || Date.now() >= giveUpAt)) {
        throw new MessagingError('unavailable', describeFailure(failure, options), { cause: error });
      }
      log.failure(failure);
      await delay(RETRY_MS + Math.random() * RETRY_JITTER_MS);
    }
  }
}

function connectionOptions(options: ConnectOptions): ConnectionOptions {
  return {
    ...accessOptions(options),
    name: options.service,
    inboxPrefix: `_INBOX.${options.service}`,
    timeout: DIAL_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    maxPingOut: 2,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RETRY_MS,
    reconnectJitter: RETRY_JITTER_MS,
    reconnectJitterTLS: RETRY_JITTER_MS,
    // A server refuses its users for a moment while its configuration changes.
    ignoreAuthErrorAbort: true,
    // The client's own resolver ignores /etc/hosts and search domains.
    resolve: false,
    noAsyncTraces: true,
  };
}

/** Reports every change of the connection to `messaging`, while it is in use. */
async function follow(connection: NatsConnection, messaging: NatsMessaging, log: ConnectionLog, options: ConnectOptions): Promise<void> {
  let servers = listServers(connection);
  let isLeaving = false;
  for await (const status of connection.status() as AsyncIterable<
    Status & { permissionContext?: { operation: string; subject: string } }
  >) {
    if (messaging.link.connection !== connection) continue;
    switch (status.type) {
      case Events.Disconnect:
        messaging.connectionLost();
        log.lost();
        void explain(connection, messaging, log, options);
        break;
      case Events.Reconnect:
        isLeaving = false;
        log.connected(connection);
        messaging.connectionRestored();
        break;
      case Events.Update:
        if (listServers(connection) === servers) break;
        servers = listServers(connection);
        messaging.link.clusterChanged();
        break;
      case Events.LDM:
        if (!isLeaving) void leave(connection, messaging, log, options);
        isLeaving = true;
        break;
      case Events.Error:
        log.failure({ code: String(status.data), message: '' }, status.permissionContext);
        if (status.permissionContext?.operation === 'publish') messaging.publishRefused(status.permissionContext.subject);
        break;
      default:
        break;
    }
  }
}

/** Logs the reason when the connection does not come back. The client, which tries again and again, keeps it to itself. */
async function explain(connection: NatsConnection, messaging: NatsMessaging, log: ConnectionLog, options: ConnectOptions): Promise<void> {
  await delay(EXPLAIN_MS, undefined, { ref: false });
  if (messaging.connected || connection.isClosed()) return;
  try {
    const other = await connect({ ...connectionOptions(options), reconnect: false });
    await other.close();
  } catch (error) {
    log.failure(summarizeFailure(error));
  }
}

/** The servers of the cluster that take clients, as the server of this connection reports them. */
function listServers(connection: NatsConnection): string {
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

/** Logs each kind of failure once, until the connection is restored, and counts. Never logs the URL, which may contain a password. */
class ConnectionLog {
  private readonly said = new Set<string>();
  private wasConnected = false;

  constructor(
    private readonly logger: Logger,
    private readonly access: NatsAccess,
    private readonly metrics: NatsMetrics,
  ) {}

  connected(connection: NatsConnection): void {
    this.said.clear();
    if (this.wasConnected) this.metrics.reconnects.inc();
    this.wasConnected = true;
    this.logger.info({ server: connection.getServer() }, 'connected to NATS');
  }

  draining(): void {
    this.metrics.lameDucks.inc();
    this.logger.info('the NATS server drains; connecting to another');
  }

  lost(): void {
    if (this.once('lost')) this.logger.warn('connection to NATS lost; reconnecting');
  }

  failure(failure: { code: string; message: string }, refused?: { operation: string; subject: string }): void {
    if (refused !== undefined) {
      // Inbox subjects are random: log their prefix, once.
      const subject = refused.subject.replace(/^(_INBOX\.[^.]+)\..*/, '$1.>');
      if (this.once(`${refused.operation} ${subject}`)) {
        this.logger.error({ user: this.access.user, operation: refused.operation, subject }, 'NATS permission denied');
      }
      return;
    }
    const { code } = failure;
    if (this.once(code)) this.logger.error({ code }, describeFailure(failure, this.access));
  }

  private once(what: string): boolean {
    if (this.said.has(what)) return false;
    this.said.add(what);
    return true;
  }
}
