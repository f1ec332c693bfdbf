import { REPLICA_INTERVAL_MS, replicaReady } from '#contracts/billing/events.js';
import type { Messaging } from '#messaging/messaging.js';
import type { HoldLanes } from '../batch/hold-lanes.js';

/** A replica whose oldest request has waited longer does not announce itself: gateways then use any replica. */
const WAITING_MAX_MS = 1_000;

/** Announces this replica while its lanes move, so that gateways send it the accounts that are its own. */
export class ReplicaAnnouncements {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly replicaId: string,
    private readonly messaging: Pick<Messaging, 'publish'>,
    private readonly lanes: Pick<HoldLanes, 'waitingMs'>,
  ) {}

  start(): void {
    this.timer = setInterval(() => {
      if (this.lanes.waitingMs <= WAITING_MAX_MS) this.messaging.publish(replicaReady, { replicaId: this.replicaId });
    }, REPLICA_INTERVAL_MS);
  }

  stop(): void {
    clearInterval(this.timer);
  }
}
