import { randomUUID } from 'node:crypto';
import {
  PROXY_REPLICA_INTERVAL_MS,
  type ProxyReplicaReady,
  proxyReplicaReady,
  ROUTES_OVER_SHARE_MAX,
  type RouteOverShare,
} from '#contracts/proxy-replicas.js';
import type { Messaging } from '#messaging/messaging.js';
import type { RouteTable } from './route-table.js';

/** Milliseconds without an announcement after which the others divide a replica's share. */
const SILENT_MS = 3 * PROXY_REPLICA_INTERVAL_MS;
/** Milliseconds between two announcements after which the others may have done so. Below `SILENT_MS`, so that this replica notices first. */
const LAPSED_MS = 2 * PROXY_REPLICA_INTERVAL_MS;
/** Milliseconds in which the others answer a first announcement: from their answers on they use smaller shares. */
const JOIN_MS = 500;

interface OtherReplica {
  heardAt: number;
  overShare: readonly RouteOverShare[];
}

/** The replicas of the inference-proxy: announces this one, and divides the `concurrencyMax` of routes between those that are heard. */
export class ProxyReplicas {
  private readonly replicaId = randomUUID();
  private readonly others = new Map<string, OtherReplica>();
  private announcedAt = Number.NEGATIVE_INFINITY;
  /** Set while this replica waits for the answers of the others: it starts no call on a route with a limit. */
  private joining: NodeJS.Timeout | undefined;
  private timer: NodeJS.Timeout | undefined;
  private unsubscribe = (): void => {};

  constructor(
    private readonly messaging: Pick<Messaging, 'publish' | 'subscribe' | 'onReconnect' | 'connected'>,
    private readonly routes: Pick<RouteTable, 'share' | 'overShare'>,
  ) {}

  start(): void {
    this.unsubscribe = this.messaging.subscribe(proxyReplicaReady, (event) => this.heard(event));
    this.messaging.onReconnect(() => this.refresh());
    this.timer = setInterval(() => this.refresh(), PROXY_REPLICA_INTERVAL_MS);
    this.refresh();
  }

  /** Gives up the share. Call when the last call has ended: until then the others must leave it free. */
  stop(): void {
    clearInterval(this.timer);
    clearTimeout(this.joining);
    this.timer = undefined;
    this.unsubscribe();
  }

  /** Announces this replica and forgets those that are silent. Does nothing while NATS is away, when none can be heard. */
  private refresh(): void {
    if (this.timer === undefined || !this.messaging.connected) return;
    const now = performance.now();
    if (now - this.announcedAt > LAPSED_MS) this.join(now);
    for (const [id, { heardAt }] of this.others) if (now - heardAt > SILENT_MS) this.others.delete(id);
    this.divide();
    this.announce();
  }

  /** Begins anew after a start, a lost connection or a process that stood still. Replicas that it could not hear count as heard. */
  private join(now: number): void {
    for (const other of this.others.values()) other.heardAt = now;
    clearTimeout(this.joining);
    this.joining = setTimeout(() => {
      this.joining = undefined;
      this.divide();
      this.announce();
    }, JOIN_MS);
  }

  private heard({ replicaId, overShare = [] }: ProxyReplicaReady): void {
    if (replicaId === this.replicaId) return;
    const isNew = !this.others.has(replicaId);
    this.others.set(replicaId, { heardAt: performance.now(), overShare });
    this.divide();
    if (isNew) this.announce(); // it waits for an answer
  }

  private announce(): void {
    if (!this.messaging.connected) return;
    const overShare = this.routes.overShare().slice(0, ROUTES_OVER_SHARE_MAX);
    this.messaging.publish(proxyReplicaReady, { replicaId: this.replicaId, ...(overShare.length > 0 && { overShare }) });
    this.announcedAt = performance.now();
  }

  private divide(): void {
    const ids = [...this.others.keys(), this.replicaId].sort();
    this.routes.share({
      index: ids.indexOf(this.replicaId),
      count: this.joining === undefined ? ids.length : 0,
      overShare: [...this.others.values()].flatMap(({ overShare }) => overShare),
    });
  }
}
