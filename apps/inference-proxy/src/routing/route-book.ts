import type { Route, RouteListReply, Upstream } from '#contracts/catalog.js';
import type { RouteStatusReply } from '#contracts/route-status.js';
import type { InferenceRequest } from '#inference/request.js';
import type { Logger } from '#observability/logger.js';
import type { ProxyMetrics } from '../proxy-metrics.js';
import { UpstreamFailure } from '../upstream-failure.js';
import type { BreakerTerms } from './breaker.js';
import { ModelRoute, type RouteCall } from './model-route.js';
import { ModelRoutes } from './model-routes.js';
import { renderRouteStatus } from './render-route-status.js';
import type { RetryTerms } from './retry-budget.js';
import { UpstreamLink } from './upstream-link.js';
import type { LineTerms } from './waiting-line.js';

export type RoutingTerms = BreakerTerms & RetryTerms & LineTerms;

/**
 * The routes known now. A new catalog replaces them at once; calls under way finish on the route they have. A route that is
 * in both keeps what is known of it: who is on it, how fast it is, and its breaker.
 */
export class RouteBook {
  private links = new Map<string, UpstreamLink>();
  private models = new Map<string, ModelRoutes>();
  private readonly waiting = new Set<ModelRoutes>();
  private applied: string | undefined;
  private revision: number | null = null;

  constructor(
    private readonly metrics: ProxyMetrics,
    private readonly terms: RoutingTerms,
    private readonly logger: Logger,
    private readonly random: () => number = Math.random,
  ) {
    metrics.watch(() => [...this.models.values()]);
  }

  /** A catalog has been read at least once. */
  get isKnown(): boolean {
    return this.applied !== undefined;
  }

  /** As `ModelRoutes.acquire`. */
  acquire(request: InferenceRequest, tried: ReadonlySet<ModelRoute>, signal: AbortSignal): RouteCall | Promise<RouteCall> {
    const model = this.models.get(request.model);
    if (model === undefined) throw new UpstreamFailure('unreachable', 'model_unavailable', { detail: 'the model has no route' });
    return model.acquire(request, tried, signal);
  }

  mayRetry(model: string, tried: ReadonlySet<ModelRoute>): boolean {
    return this.models.get(model)?.mayRetry(tried) ?? false;
  }

  /** As `ModelRoutes.retryAfterSeconds`; undefined for a model nobody knows. */
  retryAfterSeconds(model: string): number | undefined {
    return this.models.get(model)?.retryAfterSeconds();
  }

  /** How everything is doing, as `replica` tells it. */
  status(replica: string): RouteStatusReply {
    return renderRouteStatus(replica, this.revision, [...this.models.values()], performance.now());
  }

  /** Makes the book equal to the catalog's reply. An upstream that did not change keeps its sockets. */
  apply(reply: RouteListReply): void {
    const text = JSON.stringify(reply);
    if (text === this.applied) return;
    const links = new Map(reply.upstreams.map((upstream) => [upstream.id, this.linkFor(upstream)]));
    const models = new Map<string, ModelRoutes>();
    const before = this.models;
    this.models = models;
    this.applied = text;
    this.revision = reply.revision;
    for (const link of links.values()) link.routes.clear();
    for (const { id, routes } of reply.models) {
      const model = before.get(id) ?? this.newModel(id);
      models.set(id, model);
      model.routes = routes.flatMap((route) => this.routeFor(model, route, links));
    }
    for (const [id, model] of before) if (!models.has(id)) model.routes = [];
    const retired = [...this.links.values()].filter((link) => links.get(link.upstream.id) !== link);
    this.links = links;
    for (const link of retired) void link.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.links.values()].map((link) => link.close()));
  }

  private newModel(id: string): ModelRoutes {
    return new ModelRoutes(id, this.terms, this.random, {
      waits: (model) => this.waiting.add(model),
      waited: (outcome, ms) => this.metrics.waited(id, outcome, ms),
      retried: (outcome) => this.metrics.retried(id, outcome),
    });
  }

  private linkFor(upstream: Upstream): UpstreamLink {
    const known = this.links.get(upstream.id);
    if (known !== undefined && JSON.stringify(known.upstream) === JSON.stringify(upstream)) return known;
    return new UpstreamLink(upstream);
  }

  private routeFor(model: ModelRoutes, definition: Route, links: ReadonlyMap<string, UpstreamLink>): ModelRoute[] {
    const link = links.get(definition.upstream);
    if (link === undefined) return [];
    const known = model.routes.find((route) => route.link === link && route.model === definition.model);
    const route =
      known ??
      new ModelRoute(link, definition, this.metrics.ofRoute(link.upstream, model.id, definition.model), this.terms, this.observer(model));
    route.redefine(definition);
    link.routes.add(route);
    return [route];
  }

  private observer({ id }: ModelRoutes) {
    return {
      breakerMoved: ({ link, model, breaker, inFlight, statistics }: ModelRoute): void => {
        const fields = { model: id, upstream: link.upstream.id, upstreamModel: model, inFlight, trips: breaker.trips };
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
