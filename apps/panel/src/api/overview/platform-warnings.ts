import { type LedgerCheckListReply, ledgerCheckList } from '#contracts/billing/ledger.js';
import { routeAdvice, routeState } from '#contracts/route-state.js';
import { type RouteStatus, type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import { PanelError } from '../../errors/panel-error.js';
import { findService, type Services } from '../../services/services.js';
import type { OverviewWarning } from '../../shapes/overview.js';

/** Milliseconds that the services have to answer. */
const ANSWER_MS = 2_000;
/** Age from which the page of a customer reads them again. */
const READ_AGAIN_MS = 15_000;
/** Age up to which a failure of a route that waits for its next request counts. */
const RECENT_MS = 900_000;
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

  /** Returns the models that a customer cannot call now, as of the last look: a customer's page never waits for replicas. */
  modelsDown(): OverviewWarning[] {
    if (this.last === undefined || performance.now() - this.last.readAt > READ_AGAIN_MS) this.read().catch(() => undefined);
    return (this.last?.warnings ?? []).flatMap((warning) =>
      warning.kind === 'model-down' ? [{ ...warning, upstreams: null, detail: null, failedAgoMs: null, advice: null }] : [],
    );
  }

  private async readAll(): Promise<OverviewWarning[]> {
    const warnings = await Promise.all([
      orUnavailable(routeStatus.subject, async () => routesDown(await this.services.askEvery(routeStatus, {}, ANSWER_MS))),
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
    if (error instanceof PanelError && error.code === 'unavailable')
      return [{ kind: 'service-unavailable', service: findService(subject) }];
    throw error;
  }
}

/** Returns one warning for each model that no route serves, and for each other route that is down, with the number of its replicas. */
function routesDown(replicas: readonly RouteStatusReply[]): OverviewWarning[] {
  const models = Map.groupBy(
    replicas.flatMap(({ routes }) => routes),
    ({ model }) => model,
  );
  const disabled = new Set(replicas.flatMap(({ withoutRoute }) => withoutRoute ?? []));
  return [
    ...[...disabled].filter((model) => !models.has(model)).map((model) => modelDown(model, [])),
    ...[...models].flatMap(([model, routes]) => (isDown(routes) ? [modelDown(model, routes)] : someDown(model, routes))),
  ];
}

/** A model that was not called since its outage may be back: nothing has tried it. */
function isDown(routes: readonly RouteStatus[]): boolean {
  if (routes.some((route) => routeState(route) === 'up')) return false;
  return routes.some((route) => routeState(route) === 'down' || (route.lastFailure?.agoMs ?? Infinity) < RECENT_MS);
}

function modelDown(model: string, routes: readonly RouteStatus[]): OverviewWarning {
  const latest = routes.toSorted((one, other) => (one.lastFailure?.agoMs ?? Infinity) - (other.lastFailure?.agoMs ?? Infinity))[0];
  return {
    kind: 'model-down',
    model,
    upstreams: [...new Set(routes.map(({ upstream }) => upstream))],
    detail: latest?.lastFailure?.detail ?? null,
    failedAgoMs: latest?.lastFailure?.agoMs ?? null,
    advice: latest ? routeAdvice(latest) : 'All its routes lead to disabled upstreams. Enable one in the catalog.',
  };
}

function someDown(model: string, routes: readonly RouteStatus[]): OverviewWarning[] {
  const down = routes.filter((route) => routeState(route) === 'down');
  return [...Map.groupBy(down, ({ upstream }) => upstream)].map(([upstream, same]) => ({
    kind: 'route-down',
    model,
    upstream,
    replicas: same.length,
  }));
}

function violations({ checks }: LedgerCheckListReply): OverviewWarning[] {
  return checks.flatMap(({ checkedAt, invariants }) => {
    const found = invariants.reduce((sum, invariant) => sum + invariant.violations, 0);
    return found > 0 ? [{ kind: 'ledger-violations', checkedAt, violations: found } as const] : [];
  });
}
