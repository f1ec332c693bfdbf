import type { NatsConnection } from 'nats';
import { Counter, Gauge, type Registry } from 'prom-client';
import { within } from '#observability/grace.js';

/** A connection whose state is read when Prometheus scrapes. */
interface WatchedConnection {
  readonly connected: boolean;
  readonly link: { readonly connection: Pick<NatsConnection, 'flush'> };
}

export type NatsMetrics = ReturnType<typeof createNatsMetrics>;

/** Longest wait for the answer to a ping, so that a slow server does not hold up a scrape. */
const PING_MS = 1_000;

/** Registers the metrics of a service's connection to NATS. They have no labels. */
export function createNatsMetrics(registry: Registry) {
  const registers = [registry];
  let watched: WatchedConnection | undefined;
  new Gauge({
    name: 'tollgate_nats_connected',
    help: '1 while there is a connection to NATS, else 0',
    registers,
    collect() {
      this.set(watched?.connected ? 1 : 0);
    },
  });
  new Gauge({
    name: 'tollgate_nats_round_trip_seconds',
    help: 'Seconds of a ping to NATS and back at this scrape, at most 1; 0 without a connection',
    registers,
    async collect() {
      const startedAt = performance.now();
      if (watched?.connected) await within(PING_MS, watched.link.connection.flush());
      this.set(watched?.connected ? Math.min(PING_MS, performance.now() - startedAt) / 1000 : 0);
    },
  });
  return {
    reconnects: new Counter({ name: 'tollgate_nats_reconnects_total', help: 'Connections to NATS after the first', registers }),
    lameDucks: new Counter({
      name: 'tollgate_nats_lame_duck_notices_total',
      help: 'Notices of a NATS server that it is about to stop',
      registers,
    }),
    watch(connection: WatchedConnection): void {
      watched = connection;
    },
  };
}
