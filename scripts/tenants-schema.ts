/**
 * Writes docs/tenants.schema.json and docs/catalog.schema.json, the JSON schemas of a tenants file and of the catalog file, from their
 * classes; with --print to standard output.
 */

import { writeFileSync } from 'node:fs';
import { fileSchema } from './asyncapi/file-schema.ts';

const schemas = {
  'docs/tenants.schema.json': fileSchema('Tenants of Tollgate', 'libs/contracts/src/tenants-file.ts', 'TenantsFile'),
  'docs/catalog.schema.json': fileSchema('Catalog of Tollgate', 'apps/catalog/src/file/catalog-file.schema.ts', 'CatalogFileEntry'),
};
for (const [page, text] of Object.entries(schemas)) {
  if (process.argv.includes('--print')) process.stdout.write(text);
  else writeFileSync(page, text);
}
