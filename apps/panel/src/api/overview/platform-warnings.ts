import { type LedgerCheckListReply, ledgerCheckList } from '#contracts/billing/ledger.js';
import { type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import { PanelError } from '../../http/panel-error.js';
import { type Services, serviceOf } from '../../services/services.js';
import type { OverviewWarning } from '../shapes/overview.js';

/** Milliseconds that the services have to answer. */
const ANSWER_MS = 2_000;
/** Age up to which warnings are shown while they are read again. The page asks every 15 s. */
const SHOWN_MS = 60_000;

/**
 * Reads what the operator should act on. The answers of all replicas take a while, so a page gets the warnings of the last look; only the
 * first look waits.
 */
export class PlatformWarnings {
  private last: { readAt: number; warnings: OverviewWarning[] } | undefined;
  private reading: Promise<OverviewWarning[]> | undefined;

  constructor(private readonly services: Pick<Services, 'ask' | 'askEvery'>) {}

  async read(): Promise<OverviewWarning[]> {
    this.reading ??= this.readAll().finally(() => {
      this.reading = undefined;
    });
    if (this.last === undefined || performance.now() - this.last.readAt > SHOWN_MS) return this.reading;
    this.reading.catch(() => undefined); // the next look waits for an answer of its own
    return this.last.warnings;
  }

  private async readAll(): Promise<OverviewWarning[]> {
    const warnings = await Promise.all([
      orUnavailable(routeStatus.subject, async () => openCircuits(await this.services.askEvery(routeStatus, {}, ANSWER_MS))),
      orUnavailable(ledgerCheckList.subject, async () => violations(await this.services.ask(ledgerCheckList, { limit: 1 }))),
    ]);
    this.last = { readAt: performance.now(), warnings: warnings.flat() };
    return this.last.warnings;
  }
}

/** Warnings of a service that does not answer are left out, and say so. */
async function orUnavailable(subject: string, warnings: () => Promise<OverviewWarning[]>): Promise<OverviewWarning[]> {
  try {
    return await warnings();
  } catch (error) {
    if (error instanceof PanelError && error.code === 'unavailable') return [{ kind: 'service-unavailable', service: serviceOf(subject) }];
    throw error;
  }
}

/** Returns one warning for each route that replicas do not call, with their number. */
function openCircuits(replicas: readonly RouteStatusReply[]): OverviewWarning[] {
  const open = replicas.flatMap(({ routes }) => routes.filter(({ circuit }) => circuit === 'open'));
  const routes = Map.groupBy(open, ({ model, upstream }) => JSON.stringify([model, upstream]));
  return [...routes.values()].flatMap((same) =>
    same.slice(0, 1).map(({ model, upstream }) => ({ kind: 'circuit-open', model, upstream, replicas: same.length }) as const),
  );
}

function violations({ checks }: LedgerCheckListReply): OverviewWarning[] {
  return checks.flatMap(({ checkedAt, invariants }) => {
    const found = invariants.reduce((sum, invariant) => sum + invariant.violations, 0);
    return found > 0 ? [{ kind: 'ledger-violations', checkedAt, violations: found } as const] : [];
  });
}
