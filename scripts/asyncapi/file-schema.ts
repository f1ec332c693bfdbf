import { readSchemas } from './contracts.ts';
import type { Schema } from './json-schema.ts';

/** Returns the JSON schema of a file that people write, from the class of its root, as the text of a document. */
export function fileSchema(title: string, path: string, root: string): string {
  const definitions = Object.fromEntries(
    Object.entries(readSchemas(path, root)).map(([name, schema]) => [
      name,
      closed(JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/'))),
    ]),
  );
  const { [root]: whole, ...$defs } = definitions;
  return `${JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', title, ...whole, $defs }, null, 2)}\n`;
}

/** An unknown field of the file is a fault, unlike one of a message. */
function closed(schema: Schema): Schema {
  return schema.properties === undefined ? schema : { ...schema, additionalProperties: false as unknown as Schema };
}
