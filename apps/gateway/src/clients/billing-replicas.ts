import { REPLICA_INTERVAL_MS, replicaReady } from '#contracts/billing/events.js';
import type { Messaging } from '#messaging/messaging.js';

/** Milliseconds without an announcement after which a replica is forgotten. */
const SILENT_MS = 3 * REPLICA_INTERVAL_MS;

/** The billing replicas that announce themselves. */
export class BillingReplicas {
  /** Sorted, so that every gateway has the same list. A new array after every change. */
  ids: readonly string[] = [];
  private readonly heardAt = new Map<string, number>();
  private unsubscribe: (() => void) | undefined;

  constructor(
    private readonly messaging: Messaging,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Nest lifecycle hook: subscribes to the announcements. */
  onModuleInit(): void {
    this.unsubscribe = this.messaging.subscribe(replicaReady, ({ replicaId }) => this.heard(replicaId));
  }

  /** Nest lifecycle hook. */
  onApplicationShutdown(): void {
    this.unsubscribe?.();
  }

  /** Removes a replica until its next announcement. */
  forget(replicaId: string): void {
    if (this.heardAt.delete(replicaId)) this.list();
  }

  private heard(replicaId: string): void {
    const now = this.now();
    const isNew = !this.heardAt.has(replicaId);
    this.heardAt.set(replicaId, now);
    const silent = [...this.heardAt].filter(([, heardAt]) => now - heardAt > SILENT_MS);
    for (const [id] of silent) this.heardAt.delete(id);
    if (isNew || silent.length > 0) this.list();
  }

  private list(): void {
    this.ids = [...this.heardAt.keys()].sort();
  }
}
