import { parse, stringify } from 'yaml';
import { catalogApply } from '#contracts/catalog.js';
import { catalogGet } from '#contracts/catalog-revisions.js';
import type { ServiceError } from '#contracts/service-error.js';
import type { Messaging } from '#messaging/messaging.js';
import type { StackInfo } from './stack.js';
import { untilOffered } from './tenant.js';

interface Entry {
  id: string;
}

/** Upstreams and models as the catalog file has them. */
export interface CatalogEntries {
  upstreams: readonly Entry[];
  models: readonly Entry[];
}

/** Adds entries to the catalog beside those of other tests, and resolves when the gateway offers the models to `apiKey`. */
export async function offerModels(
  administrator: Messaging,
  { gatewayUrl }: Pick<StackInfo, 'gatewayUrl'>,
  apiKey: string,
  { upstreams, models }: CatalogEntries,
): Promise<void> {
  await changeCatalog(administrator, (catalog) => ({
    ...catalog,
    upstreams: [...catalog.upstreams, ...upstreams],
    models: [...catalog.models, ...models],
  }));
  await untilOffered(
    gatewayUrl,
    apiKey,
    models.map(({ id }) => id),
  );
}

/** Removes entries that `offerModels` has added. */
export async function withdrawModels(administrator: Messaging, { upstreams, models }: CatalogEntries): Promise<void> {
  const without = (all: readonly Entry[], some: readonly Entry[]): Entry[] => all.filter(({ id }) => !some.some((one) => one.id === id));
  await changeCatalog(administrator, (catalog) => ({
    ...catalog,
    upstreams: without(catalog.upstreams, upstreams),
    models: without(catalog.models, models),
  }));
}

/** Repeats a change until no other test has changed the catalog meanwhile. */
async function changeCatalog(administrator: Messaging, change: (catalog: CatalogEntries) => CatalogEntries): Promise<void> {
  for (;;) {
    const { yaml, currentRevision } = await administrator.request(catalogGet, {});
    // The catalog accepts no YAML aliases.
    const changed = stringify(change(parse(yaml ?? '') as CatalogEntries), { aliasDuplicateObjects: false });
    try {
      await administrator.request(catalogApply, { yaml: changed, expectedRevision: currentRevision });
      return;
    } catch (error) {
      if ((error as ServiceError).code !== 'conflict') throw error;
    }
  }
}
