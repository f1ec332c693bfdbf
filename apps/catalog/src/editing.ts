import type { Caller } from '#contracts/audit.js';
import { ServiceError } from '#contracts/service-error.js';
import type { CatalogStore } from './apply/catalog-store.js';
import type { CatalogConfig } from './catalog.config.js';
import { describePlace, type PrivateUpstreams } from './file/check-consistency.js';

/** NATS user of the panel. */
const PANEL = 'panel';

/** The settings `CATALOG_EDITING` and `PANEL_PRIVATE_NETWORK`: what callers may change in the catalog. */
export class Editing {
  readonly isOn: boolean;
  private readonly panelOpensPrivateNetwork: boolean;

  constructor(
    { catalogEditing, panelPrivateNetwork }: Pick<CatalogConfig, 'catalogEditing' | 'panelPrivateNetwork'>,
    private readonly store: Pick<CatalogStore, 'read'>,
  ) {
    this.isOn = catalogEditing === 'on';
    this.panelOpensPrivateNetwork = panelPrivateNetwork === 'on';
  }

  /** @throws {ServiceError} `conflict` when callers may not change the catalog. */
  require(): void {
    if (this.isOn) return;
    throw new ServiceError(
      'conflict',
      'The catalog cannot be changed by requests: CATALOG_EDITING is off. Change the file of CATALOG_FILE and restart the catalog service.',
    );
  }

  /** Returns the upstreams that a text of this caller may have with `allowPrivateNetwork`; undefined: any. */
  async privateUpstreamsFor({ via }: { via: Caller['via'] }): Promise<PrivateUpstreams | undefined> {
    if (via !== PANEL || this.panelOpensPrivateNetwork) return undefined;
    const { upstreams } = await this.store.read();
    return new Map(upstreams.flatMap((upstream) => (upstream.allowPrivateNetwork ? [[upstream.id, describePlace(upstream)]] : [])));
  }
}
