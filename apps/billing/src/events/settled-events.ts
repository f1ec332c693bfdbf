import { holdSettled, type SettledHold } from '#contracts/billing/events.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import type { Committed, Settlement } from '../batch/batch.js';

/** Settlements in one message, far below the size limit of the server. */
const SETTLED_MAX = 500;

/** Publishes settlements after their commit, at most once. It can neither fail nor delay money: the messages follow the replies. */
export class SettledEvents {
  constructor(
    private readonly messaging: Pick<Messaging, 'publish'>,
    private readonly logger: Logger,
  ) {}

  /** Publishes the settlements of a batch. Never throws. */
  applied(batch: Committed): void {
    if (batch.rows.settled.length === 0) return;
    setImmediate(() => {
      try {
        this.publish(batch);
      } catch (error) {
        this.logger.warn({ err: error }, 'event not published');
      }
    });
  }

  private publish({ rows, state }: Committed): void {
    const settled = rows.settled.flatMap((row) => renderSettled(row, state.holds.get(row.holdId)));
    for (let from = 0; from < settled.length; from += SETTLED_MAX) {
      this.messaging.publish(holdSettled, { settled: settled.slice(from, from + SETTLED_MAX) });
    }
  }
}

function renderSettled(
  { holdId, reason, cost, usage }: Settlement,
  hold: { accountId: string; projectId: string } | undefined,
): SettledHold[] {
  return hold ? [{ holdId, accountId: hold.accountId, projectId: hold.projectId, reason, costPicoUsd: String(cost), usage }] : [];
}
