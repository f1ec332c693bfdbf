import { createHash } from 'node:crypto';
import type { Caller } from '#contracts/audit.js';
import type { CatalogApplyReply, CatalogApplyRequest } from '#contracts/catalog.js';
import { ServiceError } from '#contracts/service-error.js';
import { serviceAuthor } from '#database/audit-journal.js';
import type { Logger } from '#observability/logger.js';
import type { Announcements } from '../announcements.js';
import type { CatalogMetrics } from '../catalog.metrics.js';
import { CatalogFileError } from '../file/catalog-file-error.js';
import type { PrivateUpstreams } from '../file/check-consistency.js';
import { parseCatalogFile, type WantedCatalog } from '../file/parse-catalog-file.js';
import type { Variables } from '../file/substitute.js';
import type { Snapshot } from '../snapshot.js';
import type { ApplyOutcome, CatalogStore } from './catalog-store.js';

const FAULTS_LOGGED = 5;

/** Applies catalog files and publishes the new revision. */
export class Applier {
  constructor(
    private readonly store: CatalogStore,
    private readonly snapshot: Snapshot,
    private readonly announcements: Announcements,
    private readonly variables: Variables,
    private readonly metrics: CatalogMetrics,
    private readonly logger: Logger,
  ) {}

  /**
   * Makes the catalog equal to the text. With `privateUpstreams`, only these may have `allowPrivateNetwork`.
   * @throws {CatalogFileError} when the text is invalid; nothing is applied.
   * @throws {ServiceError} `conflict` when the current revision is not the expected one; `unavailable` when the database fails, which may be
   * after the commit.
   */
  async apply(
    { yaml, fileName = 'catalog.yaml', expectedRevision }: CatalogApplyRequest,
    caller: Caller,
    privateUpstreams?: PrivateUpstreams,
  ): Promise<CatalogApplyReply> {
    const wanted = this.parse(yaml, fileName, privateUpstreams);
    const origin = { author: { caller, logger: this.logger }, fileName, yaml, expectedRevision };
    const outcome = await this.counted(() => this.store.apply(wanted, origin)).catch((error: unknown) => {
      if (error instanceof ServiceError) throw error;
      this.logger.error({ err: error, fileName }, 'catalog cannot be stored');
      throw new ServiceError('unavailable', 'The catalog could not be stored. Applying it again is safe.');
    });
    await this.announce(outcome, { fileName });
    return {
      revision: outcome.revision,
      changed: outcome.changes !== null,
      models: wanted.models.filter(({ enabled, unit }) => enabled && unit === null).length,
      upstreams: wanted.upstreams.filter(({ enabled }) => enabled).length,
      ...(outcome.changes && { changes: outcome.changes }),
    };
  }

  /** Applies the start file if it has changed since the last start (see `CatalogStore.applyAtStart`). */
  async applyAtStart(text: string, fileName: string): Promise<void> {
    const wanted = this.parse(text, fileName);
    const origin = { author: serviceAuthor('catalog', this.logger), fileName, yaml: text, reason: 'start file' };
    const outcome = await this.counted(() => this.store.applyAtStart(wanted, computeDigest(text, wanted), origin));
    if (outcome.known) this.logger.info({ fileName, revision: outcome.revision }, 'catalog file unchanged since the last start');
    await this.announce(outcome, { fileName });
  }

  /** Applies the scheduled prices that are due, in the order of their times, each as a revision. */
  async applyDuePrices(): Promise<void> {
    const author = serviceAuthor('catalog', this.logger);
    for (;;) {
      const outcome = await this.store.applyDuePrice(author);
      if (outcome === null) return;
      this.metrics.applies.inc({ outcome: outcome.changes === null ? 'unchanged' : 'changed' });
      await this.announce(outcome, { reason: 'scheduled price' });
    }
  }

  private parse(text: string, fileName: string, privateUpstreams?: PrivateUpstreams): WantedCatalog {
    try {
      return parseCatalogFile(text, fileName, this.variables, privateUpstreams);
    } catch (error) {
      this.metrics.applies.inc({ outcome: 'refused' });
      // Faults name fields and rules, never a value that could be a secret.
      if (error instanceof CatalogFileError) this.logger.warn({ fileName, faults: error.firstLines(FAULTS_LOGGED) }, 'catalog refused');
      throw error;
    }
  }

  private async counted<Outcome extends ApplyOutcome>(apply: () => Promise<Outcome>): Promise<Outcome> {
    try {
      const outcome = await apply();
      this.metrics.applies.inc({ outcome: outcome.changes === null ? 'unchanged' : 'changed' });
      return outcome;
    } catch (error) {
      this.metrics.applies.inc({ outcome: error instanceof ServiceError ? 'refused' : 'failed' });
      throw error;
    }
  }

  /**
   * Publishes before this replica reads the revision: callers that then ask wait for that read. Returns when this replica answers with the
   * new revision.
   */
  private async announce({ revision, changes }: ApplyOutcome, origin: { fileName: string } | { reason: string }): Promise<void> {
    if (changes !== null) this.announcements.publish(revision);
    await this.snapshot.refresh();
    if (changes === null) return;
    this.logger.info({ ...origin, revision, ...changes }, 'catalog changed');
  }
}

/** Digest of the text and the environment values in it. */
function computeDigest(text: string, wanted: WantedCatalog): string {
  const source = [text, ...wanted.upstreams.map(({ baseUrl }) => baseUrl)];
  return createHash('sha256').update(JSON.stringify(source)).digest('hex');
}
