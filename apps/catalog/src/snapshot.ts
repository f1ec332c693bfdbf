import type { ModelListReply, RouteListReply } from '#contracts/catalog.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Logger } from '#observability/logger.js';
import type { CatalogStore } from './apply/catalog-store.js';
import type { CatalogMetrics } from './catalog.metrics.js';
import { renderModelList } from './models/render-model-list.js';
import { renderRouteList } from './routes/render-route-list.js';

interface Replies {
  revision: number;
  modelList: ModelListReply;
  routeList: RouteListReply;
}

/**
 * The replies of the latest revision this replica has read. They outlive the database: while it is away the last ones are
 * given. Refreshed after an apply here, on the event of an apply elsewhere, after a reconnect, and every `intervalMs` for
 * the events that got lost.
 */
export class Snapshot {
  #replies: Replies | undefined;
  #refreshWanted = false;
  #refreshing: Promise<void> | undefined;
  #failing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly store: Pick<CatalogStore, 'read' | 'readRevision'>,
    private readonly logger: Logger,
    private readonly metrics: CatalogMetrics,
  ) {}

  get exists(): boolean {
    return this.#replies !== undefined;
  }

  get revision(): number {
    return this.#current.revision;
  }

  get modelList(): ModelListReply {
    return this.#current.modelList;
  }

  get routeList(): RouteListReply {
    return this.#current.routeList;
  }

  /** Resolves once everything committed before the call has been read, or the attempt has failed and is logged. Never rejects. */
  refresh(): Promise<void> {
    this.#refreshWanted = true;
    this.#refreshing ??= this.#run().finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  startInterval(intervalMs: number): void {
    this.#timer = setInterval(() => void this.refresh(), intervalMs);
  }

  /** Ends the interval and waits for a read under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#refreshing;
  }

  get #current(): Replies {
    if (this.#replies === undefined) throw new ServiceError('unavailable', 'The catalog has not been read yet.');
    return this.#replies;
  }

  async #run(): Promise<void> {
    while (this.#refreshWanted) {
      this.#refreshWanted = false;
      await this.#readIfChanged();
    }
  }

  async #readIfChanged(): Promise<void> {
    try {
      if (this.#replies === undefined || (await this.store.readRevision()) !== this.#replies.revision) {
        const state = await this.store.read();
        this.#replies = { revision: state.revision, modelList: renderModelList(state), routeList: renderRouteList(state) };
        this.metrics.revision.set(state.revision);
        this.metrics.models.set(this.#replies.modelList.models.length);
        this.logger.info({ revision: state.revision, models: this.#replies.modelList.models.length }, 'catalog read');
      } else if (this.#failing) {
        this.logger.info('catalog can be read again');
      }
      this.#failing = false;
    } catch (error) {
      this.metrics.refreshFailures.inc();
      // Once an outage, not once an attempt.
      if (!this.#failing) this.logger.warn({ err: error, serving: this.exists }, 'catalog cannot be read; the last revision stays in use');
      this.#failing = true;
    }
  }
}
