import { setTimeout as delay } from 'node:timers/promises';
import type { ModelListReply, RouteListReply } from '#contracts/catalog.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Logger } from '#observability/logger.js';
import type { Announcements } from './announcements.js';
import type { CatalogStore } from './apply/catalog-store.js';
import type { CatalogMetrics } from './catalog.metrics.js';
import { renderModelList } from './models/render-model-list.js';
import { renderRouteList } from './routes/render-route-list.js';

/**
 * How long a replica that does not know whether it is up to date holds its answer back. Every replica is asked and the first answer
 * counts: so one that has lost its database is heard only where there is no other.
 */
const DOUBTFUL_MS = 250;

interface Replies {
  revision: number;
  modelList: ModelListReply;
  routeList: RouteListReply;
}

/**
 * The replies of the latest revision this replica has read. They outlive the database: while it is away the last ones are
 * given, but to nobody who knows of a newer revision. Refreshed after an apply here, on the event of an apply elsewhere, after a
 * reconnect, when somebody asks for more, and every `intervalMs` for the events that got lost.
 */
export class Snapshot {
  #replies: Replies | undefined;
  #reading: Promise<boolean> | undefined;
  #readingNext: Promise<boolean> | undefined;
  #failing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: Pick<CatalogStore, 'read' | 'readRevision'>,
    private readonly announcements: Announcements,
    private readonly logger: Logger,
    private readonly metrics: CatalogMetrics,
  ) {}

  get exists(): boolean {
    return this.#replies !== undefined;
  }

  /** For a caller who knows that revision `known` exists. Throws `unavailable` when that cannot be read, or nothing has been yet. */
  async modelList(known = 0): Promise<ModelListReply> {
    return upTo(known, (await this.#latest(known)).modelList);
  }

  /** As `modelList`. */
  async routeList(known = 0): Promise<RouteListReply> {
    return upTo(known, (await this.#latest(known)).routeList);
  }

  /** Resolves to whether everything committed before the call has been read; a failure is logged. Never rejects. */
  refresh(): Promise<boolean> {
    if (this.#reading === undefined) {
      this.#reading = this.#readIfChanged().finally(() => {
        this.#reading = undefined;
      });
      return this.#reading;
    }
    this.#readingNext ??= this.#reading.then(() => {
      this.#readingNext = undefined;
      return this.refresh();
    });
    return this.#readingNext;
  }

  startInterval(intervalMs: number): void {
    this.#timer = setInterval(() => void this.refresh(), intervalMs);
  }

  /** Ends the interval and waits for reads under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await (this.#readingNext ?? this.#reading);
  }

  /** A revision that is certainly not older than `known`, unless the database itself is. */
  async #latest(known: number): Promise<Replies> {
    let isRead = true;
    if (this.#failing || this.#reading !== undefined || this.#isBehind(known)) {
      const held = delay(DOUBTFUL_MS, false, { ref: false });
      // The first reading is the start's, after it has applied its file.
      const reading = this.exists ? this.refresh().then((done) => done || held) : held;
      isRead = await Promise.race([reading, held]);
    }
    if (this.#replies === undefined || (!isRead && this.#isBehind(known))) {
      throw new ServiceError('unavailable', 'The newest revision cannot be read at the moment.');
    }
    return this.#replies;
  }

  #isBehind(known: number): boolean {
    return this.#replies === undefined || this.#replies.revision < Math.max(known, this.announcements.last);
  }

  async #readIfChanged(): Promise<boolean> {
    try {
      const revision = await this.store.readRevision();
      if (revision !== this.#replies?.revision) await this.#read();
      else if (this.#failing) this.logger.info('catalog can be read again');
      this.#failing = false;
      // Before the next reading there may be a newer one, already told of.
      if (this.#replies !== undefined && this.#readingNext === undefined) this.announcements.tell(this.#replies.revision);
    } catch (error) {
      this.metrics.refreshFailures.inc();
      // Once an outage, not once an attempt.
      if (!this.#failing) this.logger.warn({ err: error, serving: this.exists }, 'catalog cannot be read; the last revision stays in use');
      this.#failing = true;
    }
    return !this.#failing;
  }

  async #read(): Promise<void> {
    const state = await this.store.read();
    this.#replies = { revision: state.revision, modelList: renderModelList(state), routeList: renderRouteList(state) };
    this.metrics.revision.set(state.revision);
    this.metrics.models.set(this.#replies.modelList.models.length);
    this.logger.info({ revision: state.revision, models: this.#replies.modelList.models.length }, 'catalog read');
  }
}

function upTo<Reply extends ModelListReply | RouteListReply>(known: number, reply: Reply): Reply {
  return reply.revision < known ? { ...reply, wentBack: true } : reply;
}
