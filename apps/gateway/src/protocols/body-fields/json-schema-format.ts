import type { OutputFormat } from '#inference/request.js';
import { type JsonObject, readName, readObject, readOptionalString, readOptionalTrue } from './body-fields.js';

/** Parses `{name, schema, strict?, description?}`: chat nests it in `response_format.json_schema`, responses has it in `text.format`. */
export function parseJsonSchemaFormat(format: JsonObject, path: string): OutputFormat {
  return {
    kind: 'json-schema',
    name: readName(format, 'name', path),
    schema: readObject(format, 'schema', path),
    strict: readOptionalTrue(format, 'strict', path),
    description: readOptionalString(format, 'description', path),
  };
}
