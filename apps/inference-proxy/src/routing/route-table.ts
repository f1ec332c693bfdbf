import type { Route, RouteListReply, Upstream } from '#contracts/catalog.js';
import type { RouteOverShare } from '#contracts/proxy-replicas.js';
import type { RouteStatus, RouteStatusReply } from '#contracts/route-status.js';
import type { CertificateFile } from '#observability/certificate-expiry.js';
import type { Logger } from '#observability/logger.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { ProxyMetrics } from '../metrics/proxy-metrics.js';
import type { Operation, RouteMetrics } from '../metrics/route-metrics.js';
import { whyNoKey } from '../transport/api-key.js';
import { secretFile } from '../transport/secret-hosts.js';
import type { QueueOptions } from './admission-queue.js';
import { ModelRouter, type RouteRequest } from './model-router.js';
import { renderRouteStatus, renderUpstreamStatus } from './render-route-status.js';
import type { RetryOptions } from './retry-budget.js';
import { type Division, RouteShares, routeKey } from './route-shares.js';
import { type RouteCall, type RouteObserver, type RouteOptions, RouteState } from './route-state.js';
import { UpstreamState } from './upstream-state.js';

export type RoutingOptions = RouteOptions & RetryOptions & QueueOptions;

/**
 * The routes of all models. A new catalog replaces them at once, and calls in flight finish on the route they have. A route that is in
 * both catalogs keeps its calls, breaker, latency and counts.
 */
export class RouteTable {
  private models = new Map<string, ModelRouter>();
  // Removed entries stay while they have calls in flight, which still occupy their caps if the entry comes back.
  private readonly upstreams = new Map<string, UpstreamState>();
  private readonly routes = new Map<string, RouteState>();
  private readonly waiting = new Set<ModelRouter>();
  private readonly shares = new RouteShares();
  private applied: string | undefined;
  private revision: number | null = null;

  constructor(
    private readonly metrics: ProxyMetrics,
    private readonly options: RoutingOptions,
    private readonly logger: Logger,
    private readonly random: () => number = Math.random,
  ) {
    metrics.watch(() => ({
      routes: this.routeStatus(),
      models: [...this.models.values()].map(({ id, queue }) => ({ model: id, waiting: queue.size })),
      upstreams: [...this.upstreams].map(([upstream, { calls, client }]) => ({
        upstream,
        inUse: calls.inUse,
        connectionsMax: client.upstream.connectionsMax,
        hasToken: client.credential?.isUsable,
      })),
    }));
  }

  /** True once a catalog has been applied. */
  get isKnown(): boolean {
    return this.applied !== undefined;
  }

  /** False while the replicas divide the limits of routes anew, as at a start. */
  get hasShares(): boolean {
    return this.shares.isDivided;
  }

  /** See `ModelRouter.acquire`. */
  acquire(asked: RouteRequest, signal: AbortSignal): RouteCall | Promise<RouteCall> {
    const model = this.models.get(asked.request.model);
    if (model === undefined)
      throw new UpstreamFailure('unreachable', 'model_unavailable', { detail: 'the current catalog does not have the model' });
    return model.acquire(asked, signal);
  }

  /** See `ModelRouter.retryAfterSeconds`. Returns undefined for an unknown model. */
  retryAfterSeconds(model: string, accountId: string): number | undefined {
    return this.models.get(model)?.retryAfterSeconds(accountId);
  }

  /** Returns what this replica knows about its routes. */
  status(replica: string): RouteStatusReply {
    const models = [...this.models.values()];
    const withoutRoute = models.filter(({ routes }) => routes.length === 0).map(({ id }) => id);
    return {
      replica,
      catalogRevision: this.revision,
      routes: this.routeStatus(),
      waiting: models.filter(({ queue }) => queue.size > 0).map(({ id, queue }) => ({ model: id, requests: queue.size })),
      ...(withoutRoute.length > 0 && { withoutRoute }),
      upstreams: [...this.upstreams.values()].filter(({ client }) => !client.isClosed).map(renderUpstreamStatus),
    };
  }

  private routeStatus(): RouteStatus[] {
    const now = performance.now();
    return [...this.models.values()].flatMap(({ id, routes }) => routes.map((route) => renderRouteStatus(id, route, now)));
  }

  /** Replaces all routes by those of the catalog's reply. An upstream that is called as before keeps its sockets. */
  apply(reply: RouteListReply): void {
    const text = JSON.stringify(reply);
    if (text === this.applied) return;
    this.applied = text;
    this.revision = reply.revision;
    this.defineUpstreams(reply);
    const models = new Map<string, ModelRouter>();
    for (const { id, embeds, routes } of reply.models) {
      const model = this.models.get(id) ?? this.newModel(id);
      model.routes = routes.flatMap((route) => this.routeFor(id, route, embeds ? 'embeddings' : 'chat'));
      models.set(id, model);
    }
    for (const [id, model] of this.models) if (!models.has(id)) model.routes = [];
    this.models = models;
    const current = new Set([...models.values()].flatMap(({ routes }) => routes));
    for (const [key, route] of this.routes) if (route.inFlight === 0 && !current.has(route)) this.routes.delete(key);
    this.serveWaiting(); // once everything is in place
  }

  /** Sets the share of `concurrencyMax` that this replica has on each route. Calls beyond it run on. */
  share(division: Division): void {
    this.shares.set(division);
    this.serveWaiting();
  }

  /** Returns the routes with more calls of this replica than its share. */
  overShare(): RouteOverShare[] {
    return [...this.models.values()].flatMap(({ id, routes }) =>
      routes.flatMap(({ inFlight, definition: { upstream, model: upstreamModel, concurrencyMax } }) => {
        const share = concurrencyMax == null ? inFlight : this.shares.findShare(routeKey(id, upstream, upstreamModel), concurrencyMax);
        return inFlight > share ? [{ model: id, upstream, upstreamModel, calls: inFlight - share }] : [];
      }),
    );
  }

  /** Files with certificates that connections to upstreams use. */
  certificates(): CertificateFile[] {
    const named = [...this.upstreams.values()].flatMap(({ client: { upstream, isClosed } }) =>
      isClosed ? [] : [upstream.tls?.caFile, upstream.tls?.certFile],
    );
    return [...new Set(named)].flatMap((name) => (name == null ? [] : secretFile(name)));
  }

  async close(): Promise<void> {
    await Promise.all([...this.upstreams.values()].map((upstream) => upstream.close()));
  }

  private defineUpstreams({ upstreams }: RouteListReply): void {
    const ids = new Set(upstreams.map(({ id }) => id));
    for (const [id, known] of this.upstreams) {
      if (ids.has(id)) continue;
      void known.close();
      if (known.calls.inUse === 0) this.upstreams.delete(id);
    }
    for (const upstream of upstreams) {
      const known = this.upstreams.get(upstream.id);
      if (known !== undefined) known.redefine(upstream);
      else this.upstreams.set(upstream.id, this.newUpstream(upstream));
      const refusal = whyNoKey(upstream);
      if (refusal !== undefined)
        this.logger.error({ upstream: upstream.id, detail: refusal }, 'upstream has no usable key: its calls fail');
    }
  }

  private newUpstream(upstream: Upstream): UpstreamState {
    return new UpstreamState(
      upstream,
      (state, failure) => this.healthChanged(state, failure),
      (state, failure) => this.credentialChanged(state, failure),
    );
  }

  private newModel(id: string): ModelRouter {
    this.metrics.ofModel(id);
    return new ModelRouter(id, this.options, this.random, this.metrics, (model) => this.waiting.add(model));
  }

  private routeFor(model: string, route: Route, operation: Operation): RouteState[] {
    const upstream = this.upstreams.get(route.upstream);
    if (upstream === undefined || upstream.client.isClosed) return [];
    const metrics = this.metrics.ofRoute(upstream.client.upstream, model, route.model, operation);
    const key = routeKey(model, route.upstream, route.model);
    const known = this.routes.get(key) ?? this.newRoute(key, model, upstream, route, metrics);
    if (known.redefine(route, metrics))
      this.logger.info(
        { model, upstream: route.upstream, upstreamModel: route.model },
        'route reset: address, key or TLS settings changed',
      );
    this.routes.set(key, known);
    return [known];
  }

  private newRoute(key: string, model: string, upstream: UpstreamState, route: Route, metrics: RouteMetrics): RouteState {
    const countPlaces = (limit: number): number => this.shares.countPlaces(key, limit);
    return new RouteState(upstream, route, metrics, this.options, this.observer(model), countPlaces);
  }

  private observer(model: string): RouteObserver {
    const fields = ({ definition, inFlight }: RouteState) => ({
      model,
      upstream: definition.upstream,
      upstreamModel: definition.model,
      inFlight,
    });
    return {
      circuitChanged: (route) => {
        const { kind, detail } = route.statistics.lastFailure ?? {};
        if (route.breaker.state === 'open') this.logger.warn({ ...fields(route), kind, detail }, 'circuit open');
        if (route.breaker.state === 'closed') this.logger.info(fields(route), 'circuit closed');
        if (route.breaker.state === 'closed') this.serveWaiting();
      },
      retryAfter: (route, ms) => this.logger.warn({ ...fields(route), ms }, 'upstream asked not to be called'),
      callEnded: () => this.serveWaiting(),
    };
  }

  private healthChanged(upstream: UpstreamState, why: string | undefined): void {
    const { id } = upstream.client.upstream;
    if (why === undefined) {
      this.logger.info({ upstream: id }, 'health check passed');
      this.serveWaiting();
      return;
    }
    this.logger.warn({ upstream: id, detail: why }, 'health check failed');
    this.setLastFailure(upstream, new UpstreamFailure('unreachable', 'model_unavailable', { detail: `health check: ${why}` }));
  }

  /** A token that cannot be renewed is used to its end, so that calls may go on for a while. */
  private credentialChanged(upstream: UpstreamState, failure: UpstreamFailure | undefined): void {
    const { id } = upstream.client.upstream;
    if (failure === undefined) {
      this.logger.info({ upstream: id }, 'upstream has a credential again');
      this.serveWaiting();
      return;
    }
    this.logger.error({ upstream: id, detail: failure.detail }, 'no new credential for upstream');
    this.setLastFailure(upstream, failure);
  }

  private setLastFailure(upstream: UpstreamState, failure: UpstreamFailure): void {
    for (const route of this.routes.values()) if (route.upstream === upstream) route.statistics.setLastFailure(failure, performance.now());
  }

  /** Models share upstreams: the model whose request has waited longest is served first. */
  private serveWaiting(): void {
    if (this.waiting.size === 0) return;
    for (const model of [...this.waiting].sort((a, b) => a.queue.oldestUntil - b.queue.oldestUntil)) {
      model.serve();
      if (model.queue.size === 0) this.waiting.delete(model);
    }
  }
}
