import type { NatsConnection } from 'nats';
import { Gauge, type Registry } from 'prom-client';
import { within } from '#observability/grace.js';
import { metricsIn } from '#observability/metrics-in.js';
import type { Inbox } from './inbox.js';
import type { Outbox } from './outbox.js';
import { RUNNING_KINDS } from './receiver.js';

/** A connection whose state is read when Prometheus scrapes. */
interface WatchedConnection {
  readonly connected: boolean;
  readonly link: {
    readonly connection: Pick<NatsConnection, 'flush'>;
    readonly inbox: Pick<Inbox, 'counts'>;
    readonly outbox: Pick<Outbox, 'waiting'>;
  };
}

export type NatsMetrics = ReturnType<typeof createNatsMetrics>;

/** Longest wait for the answer to a ping, so that a slow server does not hold up a scrape. */
const PING_MS = 1_000;

/** Registers the metrics of a service's connection to NATS. */
export function createNatsMetrics(registry: Registry) {
  let watched: WatchedConnection | undefined;
  const { counter, scrapedGauge } = metricsIn(registry);
  scrapedGauge('tollgate_nats_connected', '1 while there is a connection to NATS, else 0', () => (watched?.connected ? 1 : 0));
  const ping = 'Seconds of a ping to NATS and back at this scrape, at most 1; 0 without a connection';
  scrapedGauge('tollgate_nats_round_trip_seconds', ping, async () => {
    const startedAt = performance.now();
    if (watched?.connected) await within(PING_MS, watched.link.connection.flush());
    return watched?.connected ? Math.min(PING_MS, performance.now() - startedAt) / 1000 : 0;
  });
  scrapedGauge('tollgate_nats_messages_waiting', 'Messages that wait for a connection to NATS', () => watched?.link.outbox.waiting ?? 0);
  scrapedGauge(
    'tollgate_nats_streams_without_credit',
    'Streams that wait for their reader to take what was sent',
    () => watched?.link.inbox.counts().withoutCredit ?? 0,
  );
  new Gauge({
    name: 'tollgate_nats_running',
    help: 'Calls that wait for their reply, and streams that are read or written',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      const counts = watched?.link.inbox.counts();
      for (const kind of RUNNING_KINDS) this.set({ kind }, counts?.[kind] ?? 0);
    },
  });
  return {
    reconnects: counter('tollgate_nats_reconnects_total', 'Connections to NATS after the first'),
    lameDucks: counter('tollgate_nats_lame_duck_notices_total', 'Notices of a NATS server that it is about to stop'),
    watch(connection: WatchedConnection): void {
      watched = connection;
    },
  };
}
