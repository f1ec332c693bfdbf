import { randomUUID } from 'node:crypto';
import type { NatsConnection, Service, ServiceMsg } from 'nats';
import { within } from '#observability/grace.js';
import type { Logger } from '#observability/logger.js';
import type { Link } from './link.js';

/** One endpoint as NATS service discovery shows it. */
export interface ServedEndpoint {
  subject: string;
  description: string;
  kind: 'reply' | 'stream';
  everyReplica: boolean;
  statistics: EndpointStatistics;
  receive(message: ServiceMsg): void;
}

/** Replaces the client's own statistics, which would end with the callback, before the work is done. */
export class EndpointStatistics {
  running = 0;
  completed = 0;
  failed = 0;
  lastError = '';
  private busyMs = 0;

  start(): number {
    this.running++;
    return performance.now();
  }

  end(startedAt: number, failure: unknown): void {
    this.running--;
    this.completed++;
    this.busyMs += performance.now() - startedAt;
    if (failure === undefined) return;
    this.failed++;
    this.lastError = failure instanceof Error ? failure.message : 'unknown';
  }

  /** Busy time in the unit of the NATS services convention. */
  get nanoseconds(): number {
    return Math.round(this.busyMs * 1e6);
  }
}

const RETRY_MS = 1_000;
const STOP_MS = 2_000;

/** The entry of a service in NATS service discovery, with its subscriptions. Registers again when the client drops it, and on a new connection. */
export class ServiceRegistration {
  /** Two while a connection replaces another. */
  private readonly services = new Set<Service>();
  private readonly stopFollowing: () => void;
  /** Queue group of this replica alone. */
  private readonly ownQueue: string;
  private retry: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly link: Link,
    private readonly about: { name: string; version: string; description: string; metadata: Record<string, string> },
    private readonly endpoints: ServedEndpoint[],
    private readonly logger: Logger,
  ) {
    this.ownQueue = `${about.name}-${randomUUID()}`;
    this.stopFollowing = link.onReplaced((connection) => this.register(connection));
  }

  /** Resolves when the server has every subscription. */
  async open(): Promise<void> {
    const { connection } = this.link;
    await this.register(connection);
    await connection.flush();
  }

  /** Stops taking requests. Requests already sent are still delivered. */
  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.retry);
    this.stopFollowing();
    await within(STOP_MS, Promise.all([...this.services].map((service) => service.stop())));
  }

  private async register(connection: NatsConnection): Promise<void> {
    const { name } = this.about;
    const service = await connection.services.add({ ...this.about, queue: name, statsHandler: this.reportStatistics });
    this.services.add(service);
    for (const endpoint of this.endpoints) {
      service.addEndpoint(endpoint.subject.replaceAll('.', '-').replace('*', 'any'), {
        subject: endpoint.subject,
        // The client requires a queue group; one of its own makes every replica answer.
        queue: endpoint.everyReplica ? this.ownQueue : undefined,
        metadata: { description: endpoint.description, kind: endpoint.kind },
        handler: (error, message) => error === null && endpoint.receive(message),
      });
    }
    // The client stops the whole service when the server refuses one subscription, even for a moment.
    void service.stopped.then((error) => {
      this.services.delete(service);
      this.reopenLater(connection, error);
    });
  }

  private reopenLater(connection: NatsConnection, error: Error | null): void {
    if (this.closed || connection !== this.link.connection || connection.isClosed()) return;
    this.logger.error({ err: error }, 'subscriptions ended by NATS; subscribing again');
    this.retry = setTimeout(() => this.open().catch((cause) => this.reopenLater(connection, cause)), RETRY_MS);
  }

  private readonly reportStatistics = (endpoint: { subject?: string }): Promise<unknown> => {
    const statistics = this.endpoints.find(({ subject }) => subject === endpoint.subject)?.statistics;
    if (statistics === undefined) return Promise.resolve(null);
    const { running, completed, failed, lastError, nanoseconds } = statistics;
    // The client reports `stats` of the endpoint, which its types do not declare.
    Object.assign((endpoint as { stats?: object }).stats ?? {}, {
      num_errors: failed,
      last_error: lastError,
      processing_time: nanoseconds,
      average_processing_time: completed === 0 ? 0 : Math.round(nanoseconds / completed),
    });
    return Promise.resolve({ running, completed, failed });
  };
}
