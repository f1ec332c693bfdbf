import type { Route, RouteListReply, Upstream } from '#contracts/catalog.js';
import type { ProxyMetrics, RouteMetrics } from '../proxy-metrics.js';
import type { UpstreamFailure } from '../upstream-failure.js';
import { chooseRoute } from './choose-route.js';
import { UpstreamLink } from './upstream-link.js';

/** A way to a model: an upstream, and the model's name there. Taken for one call with `acquire`, given back with `release`. */
export class ModelRoute {
  inFlight = 0;

  constructor(
    readonly link: UpstreamLink,
    private readonly route: Route,
    readonly metrics: RouteMetrics,
  ) {}

  /** The model's name at the upstream. */
  get model(): string {
    return this.route.model;
  }

  get weight(): number {
    return this.route.weight;
  }

  get priority(): number {
    return this.route.priority;
  }

  get isUp(): boolean {
    return this.link.isUp(performance.now());
  }

  get isFull(): boolean {
    return this.link.isFull;
  }

  take(): void {
    this.inFlight += 1;
    this.link.inFlight += 1;
    this.metrics.inFlight.inc();
  }

  release(failure: UpstreamFailure | undefined): void {
    this.inFlight -= 1;
    this.link.inFlight -= 1;
    this.metrics.inFlight.dec();
    if (failure?.kind === 'unreachable') this.link.markUnreachable(performance.now());
  }
}

/** The routes known now. A new catalog replaces them at once; calls under way finish on the route they have. */
export class RouteBook {
  private links = new Map<string, UpstreamLink>();
  private models = new Map<string, ModelRoute[]>();
  private applied: string | undefined;

  constructor(
    private readonly metrics: ProxyMetrics,
    private readonly cooldownMs: number,
    private readonly random: () => number = Math.random,
  ) {}

  /** A catalog has been read at least once. */
  get isKnown(): boolean {
    return this.applied !== undefined;
  }

  /**
   * Chooses a route of the model that is not among `tried`, and counts a call on it. Throws `UpstreamFailure` when there is
   * none: `model_unavailable`, or `model_capacity` when all are full.
   */
  acquire(model: string, tried: ReadonlySet<ModelRoute>): ModelRoute {
    const routes = (this.models.get(model) ?? []).filter((route) => !tried.has(route));
    const route = chooseRoute(routes, this.random());
    route.take();
    return route;
  }

  /** Makes the book equal to the catalog's reply. An upstream that did not change keeps its sockets. */
  apply(reply: RouteListReply): void {
    const text = JSON.stringify(reply);
    if (text === this.applied) return;
    const links = new Map<string, UpstreamLink>();
    for (const upstream of reply.upstreams) links.set(upstream.id, this.linkFor(upstream));
    const models = new Map<string, ModelRoute[]>();
    for (const { id, routes } of reply.models) {
      const known = routes.flatMap((route) => {
        const link = links.get(route.upstream);
        return link === undefined ? [] : [new ModelRoute(link, route, this.metrics.ofRoute(route.upstream, id))];
      });
      models.set(id, known);
    }
    const retired = [...this.links.values()].filter((link) => links.get(link.upstream.id) !== link);
    this.links = links;
    this.models = models;
    this.applied = text;
    for (const link of retired) void link.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.links.values()].map((link) => link.close()));
  }

  private linkFor(upstream: Upstream): UpstreamLink {
    const known = this.links.get(upstream.id);
    if (known !== undefined && JSON.stringify(known.upstream) === JSON.stringify(upstream)) return known;
    return new UpstreamLink(upstream, this.cooldownMs);
  }
}
