import { Registry } from 'prom-client';
import { serviceAuthor } from '#database/audit-journal.js';
import type { Logger } from '#observability/logger.js';
import { createCatalogMetrics } from '../catalog.metrics.js';
import type { Snapshot } from '../snapshot.js';
import { Applier } from './applier.js';
import type { CatalogStore } from './catalog-store.js';

test('the log of a refused catalog has its name and first faults, and no pasted secret', async () => {
  const lines: unknown[] = [];
  const logger = { warn: (fields: object, message: string) => lines.push({ ...fields, message }) } as unknown as Logger;
  const registry = new Registry();
  const applier = new Applier({} as CatalogStore, {} as Snapshot, {} as never, () => undefined, createCatalogMetrics(registry), logger);
  const entry = '  - { id: u, kind: openai-chat, baseUrl: "http://user:sk-secret@h/v1", apiKeyEnv: sk-secret }\n';

  const request = { yaml: `upstreams:\n${entry.repeat(3)}models: []\n`, fileName: 'mine.yaml' };
  await expect(applier.apply(request, serviceAuthor('catalog').caller)).rejects.toThrow('mine.yaml:2: upstreams[0].baseUrl');
  const name = 'must be the name of an environment variable such as UPSTREAM_KEY_LOCAL, never the secret itself';
  const url = 'must be an http:// or https:// URL without credentials, query or fragment';
  expect(lines).toEqual([
    {
      message: 'catalog refused',
      fileName: 'mine.yaml',
      faults: [
        `mine.yaml:2: upstreams[0].baseUrl: ${url}`,
        `mine.yaml:2: upstreams[0].apiKeyEnv: ${name}`,
        `mine.yaml:3: upstreams[1].baseUrl: ${url}`,
        `mine.yaml:3: upstreams[1].apiKeyEnv: ${name}`,
        'mine.yaml:3: upstreams[1].id: "u" is already the id of upstreams[0]',
        'and 3 more',
      ],
    },
  ]);
  expect(await registry.getSingleMetricAsString('tollgate_catalog_applies_total')).toContain('{outcome="refused"} 1');
});
