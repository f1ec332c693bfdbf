import type { Route, RouteListReply } from '#contracts/catalog.js';
import type { RouteStatusReply } from '#contracts/route-status.js';
import type { InferenceRequest } from '#inference/request.js';
import type { Logger } from '#observability/logger.js';
import { UpstreamFailure } from '../failures/upstream-failure.js';
import type { ProxyMetrics } from '../metrics/proxy-metrics.js';
import type { QueueOptions } from './admission-queue.js';
import type { BreakerOptions } from './breaker.js';
import { ModelRouter } from './model-router.js';
import { renderRouteStatus } from './render-route-status.js';
import type { RetryOptions } from './retry-budget.js';
import { type RouteCall } from './route-call.js';
import { RouteState } from './route-state.js';
import { UpstreamState } from './upstream-state.js';

export type RoutingOptions = BreakerOptions & RetryOptions & QueueOptions;

/**
 * The routes known now. A new catalog replaces them at once; calls under way finish on the route they have. A route that is
 * in both keeps what is known of it: who is on it, how fast it is, and its breaker.
 */
export class RouteTable {
  private models = new Map<string, ModelRouter>();
  // Those of the catalog, and those that have left it with calls under way: should they come back, these still count.
  private readonly upstreams = new Map<string, UpstreamState>();
  private readonly routes = new Map<string, RouteState>();
  private readonly waiting = new Set<ModelRouter>();
  private applied: string | undefined;
  private revision: number | null = null;

  constructor(
    private readonly metrics: ProxyMetrics,
    private readonly terms: RoutingOptions,
    private readonly logger: Logger,
    private readonly random: () => number = Math.random,
  ) {
    metrics.watch(() => [...this.models.values()]);
  }

  /** A catalog has been read at least once. */
  get isKnown(): boolean {
    return this.applied !== undefined;
  }

  /** As `ModelRouter.acquire`. */
  acquire(
    request: InferenceRequest,
    accountId: string,
    tried: ReadonlySet<RouteState>,
    signal: AbortSignal,
    isFirst?: boolean,
  ): RouteCall | Promise<RouteCall> {
    const model = this.models.get(request.model);
    if (model === undefined) throw new UpstreamFailure('unreachable', 'model_unavailable', { detail: 'the model has no route' });
    return model.acquire(request, accountId, tried, signal, isFirst);
  }

  /** As `ModelRouter.retryAfterSeconds`; undefined for a model nobody knows. */
  retryAfterSeconds(model: string, accountId: string): number | undefined {
    return this.models.get(model)?.retryAfterSeconds(accountId);
  }

  /** How everything is doing, as `replica` tells it. */
  status(replica: string): RouteStatusReply {
    return renderRouteStatus(replica, this.revision, [...this.models.values()], performance.now());
  }

  /** Makes the table equal to the catalog's reply. An upstream that is called as before keeps its sockets. */
  apply(reply: RouteListReply): void {
    const text = JSON.stringify(reply);
    if (text === this.applied) return;
    this.applied = text;
    this.revision = reply.revision;
    this.defineUpstreams(reply);
    const models = new Map<string, ModelRouter>();
    for (const { id, routes } of reply.models) {
      const model = this.models.get(id) ?? this.newModel(id);
      model.routes = routes.flatMap((route) => this.routeFor(id, route));
      models.set(id, model);
    }
    for (const [id, model] of this.models) if (!models.has(id)) model.routes = [];
    this.models = models;
    for (const [key, route] of this.routes) if (route.inFlight === 0 && !route.upstream.routes.has(route)) this.routes.delete(key);
    this.serveWaiting(); // not before all of it is in place
  }

  async close(): Promise<void> {
    await Promise.all([...this.upstreams.values()].map((upstream) => upstream.close()));
  }

  private defineUpstreams({ upstreams }: RouteListReply): void {
    const ids = new Set(upstreams.map(({ id }) => id));
    for (const [id, known] of this.upstreams) {
      known.routes.clear();
      if (ids.has(id)) continue;
      void known.close();
      if (known.inFlight === 0) this.upstreams.delete(id);
    }
    for (const upstream of upstreams) {
      const known = this.upstreams.get(upstream.id);
      if (known === undefined) this.upstreams.set(upstream.id, new UpstreamState(upstream));
      else known.redefine(upstream);
    }
  }

  private newModel(id: string): ModelRouter {
    this.metrics.ofModel(id);
    return new ModelRouter(id, this.terms, this.random, {
      waits: (model) => this.waiting.add(model),
      waited: (outcome, ms) => this.metrics.waited(id, outcome, ms),
      retried: (outcome) => this.metrics.retried(id, outcome),
    });
  }

  private routeFor(model: string, route: Route): RouteState[] {
    const upstream = this.upstreams.get(route.upstream);
    if (upstream === undefined || upstream.client.isClosed) return [];
    const { client } = upstream;
    const entry = { route, client, metrics: this.metrics.ofRoute(client.upstream, model, route.model) };
    const key = `${model}\n${route.upstream}\n${route.model}`;
    const known = this.routes.get(key) ?? new RouteState(upstream, entry, this.terms, this.observer(model));
    if (known.redefine(entry))
      this.logger.info(
        { model, upstream: route.upstream, upstreamModel: route.model },
        'route begins anew: the entry of its upstream has changed',
      );
    this.routes.set(key, known);
    upstream.routes.add(known);
    return [known];
  }

  private observer(id: string) {
    return {
      breakerMoved: ({ client, model, breaker, inFlight, statistics }: RouteState): void => {
        const fields = { model: id, upstream: client.upstream.id, upstreamModel: model, inFlight, trips: breaker.trips };
        const { kind, detail } = statistics.lastFailure ?? {};
        if (breaker.state === 'open') this.logger.warn({ ...fields, kind, detail }, 'route rests: its upstream fails');
        else if (breaker.state === 'closed') this.logger.info(fields, 'route is well again');
        if (breaker.state === 'closed' && this.waiting.size > 0) this.serveWaiting();
      },
      callEnded: (): void => {
        if (this.waiting.size > 0) this.serveWaiting();
      },
    };
  }

  /** Models share upstreams: whoever has waited longest is served first. */
  private serveWaiting(): void {
    for (const model of [...this.waiting].sort((a, b) => a.oldestUntil - b.oldestUntil)) {
      model.serve();
      if (model.waiting === 0) this.waiting.delete(model);
    }
  }
}
