import { ServiceError } from '#contracts/service-error.js';
import type { CatalogConfig } from './catalog.config.js';

/** The setting `CATALOG_EDITING`: whether callers may change the catalog. */
export class Editing {
  readonly isOn: boolean;

  constructor({ catalogEditing }: Pick<CatalogConfig, 'catalogEditing'>) {
    this.isOn = catalogEditing === 'on';
  }

  /** @throws {ServiceError} `conflict` when callers may not change the catalog. */
  require(): void {
    if (this.isOn) return;
    throw new ServiceError(
      'conflict',
      'The catalog cannot be changed by requests: CATALOG_EDITING is off. Change the file of CATALOG_FILE and restart the catalog service.',
    );
  }
}
