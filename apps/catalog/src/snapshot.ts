import { setTimeout as delay } from 'node:timers/promises';
import type { ModelListReply, RouteListReply } from '#contracts/catalog.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Logger } from '#observability/logger.js';
import type { Announcements } from './announcements.js';
import type { CatalogStore, CatalogVersion } from './apply/catalog-store.js';
import type { CatalogMetrics } from './catalog.metrics.js';
import { renderModelList, renderRouteList } from './render-replies.js';

/**
 * Milliseconds that a replica of unknown freshness delays its answer. All replicas are asked and the first answer counts, so one that has
 * lost its database is used only when there is no other.
 */
const UNCONFIRMED_MS = 250;

interface Replies extends CatalogVersion {
  modelList: ModelListReply;
  routeList: RouteListReply;
}

/**
 * The replies of the latest revision and of the scheduled prices that this replica has read. While the database is away they stay in use, but not for a caller that
 * knows a newer revision. Refreshed after an apply here, on the event of an apply elsewhere, after a reconnect, when a caller knows more,
 * and at an interval for lost events.
 */
export class Snapshot {
  private replies: Replies | undefined;
  private reading: Promise<boolean> | undefined;
  private readingNext: Promise<boolean> | undefined;
  private failing = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: Pick<CatalogStore, 'read' | 'readVersion'>,
    private readonly announcements: Announcements,
    private readonly logger: Logger,
    private readonly metrics: CatalogMetrics,
  ) {}

  get exists(): boolean {
    return this.replies !== undefined;
  }

  /**
   * Returns the models for a caller that knows revision `known`.
   * @throws {ServiceError} `unavailable` when that revision, or any, cannot be read.
   */
  async modelList(known = 0): Promise<ModelListReply> {
    return upTo(known, (await this.latest(known)).modelList);
  }

  /** Returns the routes, as `modelList`. */
  async routeList(known = 0): Promise<RouteListReply> {
    return upTo(known, (await this.latest(known)).routeList);
  }

  /** Resolves to true when everything committed before the call has been read. Logs failures, never rejects. */
  refresh(): Promise<boolean> {
    if (this.reading === undefined) {
      this.reading = this.readIfChanged().finally(() => {
        this.reading = undefined;
      });
      return this.reading;
    }
    this.readingNext ??= this.reading.then(() => {
      this.readingNext = undefined;
      return this.refresh();
    });
    return this.readingNext;
  }

  startInterval(intervalMs: number): void {
    this.timer = setInterval(() => void this.refresh(), intervalMs);
  }

  /** Stops the interval and waits for running reads. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await (this.readingNext ?? this.reading);
  }

  /** Returns a revision at least as new as `known`, unless the database itself is older. */
  private async latest(known: number): Promise<Replies> {
    let isRead = true;
    if (this.failing || this.reading !== undefined || this.isBehind(known)) {
      const held = delay(UNCONFIRMED_MS, false, { ref: false });
      // At start the first read follows the apply of the file.
      const reading = this.exists ? this.refresh().then((done) => done || held) : held;
      isRead = await Promise.race([reading, held]);
    }
    if (this.replies === undefined || (!isRead && this.isBehind(known))) {
      throw new ServiceError('unavailable', 'The newest revision cannot be read at the moment.');
    }
    return this.replies;
  }

  private isBehind(known: number): boolean {
    return this.replies === undefined || this.replies.revision < Math.max(known, this.announcements.last);
  }

  private async readIfChanged(): Promise<boolean> {
    try {
      const { revision, scheduled } = await this.store.readVersion();
      if (revision !== this.replies?.revision || scheduled !== this.replies.scheduled) await this.read();
      else if (this.failing) this.logger.info('catalog database works again');
      this.failing = false;
      // A queued read may find a newer revision that is already published.
      if (this.replies !== undefined && this.readingNext === undefined) this.announcements.publish(this.replies.revision);
    } catch (error) {
      this.metrics.refreshFailures.inc();
      // Once per outage, not per attempt.
      if (!this.failing) this.logger.warn({ err: error, serving: this.exists }, 'catalog database unavailable; serving the last revision');
      this.failing = true;
    }
    return !this.failing;
  }

  private async read(): Promise<void> {
    const state = await this.store.read();
    const scheduled = state.scheduledPrices.map(({ id }) => id).join(' ');
    this.replies = { revision: state.revision, scheduled, modelList: renderModelList(state), routeList: renderRouteList(state) };
    this.metrics.revision.set(state.revision);
    this.metrics.models.set(this.replies.modelList.models.length);
    this.logger.info({ revision: state.revision, models: this.replies.modelList.models.length }, 'catalog read');
  }
}

function upTo<Reply extends ModelListReply | RouteListReply>(known: number, reply: Reply): Reply {
  return reply.revision < known ? { ...reply, wentBack: true } : reply;
}
