// Writes docs/tenants.schema.json, the JSON schema of a tenants file, from the messages of billing, or with --print to standard output.

import { writeFileSync } from 'node:fs';
import { readSchemas } from './asyncapi/contracts.ts';
import type { Schema } from './asyncapi/json-schema.ts';

const PAGE = 'docs/tenants.schema.json';
const ROOT = 'TenantsFile';

const schemas = readSchemas('libs/contracts/src/tenants-file.ts', ROOT);
const definitions = Object.fromEntries(
  Object.entries(schemas).map(([name, schema]) => [
    name,
    closed(JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/'))),
  ]),
);
const { [ROOT]: root, ...$defs } = definitions;
const document = { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Tenants of Tollgate', ...root, $defs };
const text = `${JSON.stringify(document, null, 2)}\n`;
if (process.argv.includes('--print')) process.stdout.write(text);
else writeFileSync(PAGE, text);

/** An unknown field of the file is a fault, unlike one of a message. */
function closed(schema: Schema): Schema {
  return schema.properties === undefined ? schema : { ...schema, additionalProperties: false as unknown as Schema };
}
