import type { OutputFormat } from '#inference/request.js';
import {
  fieldPath,
  invalidField,
  isAbsent,
  isObject,
  type JsonObject,
  readName,
  readObject,
  readOptionalObject,
  readOptionalString,
  readOptionalTrue,
} from './body-fields.js';

/** Name of a schema whose client gave none, for upstreams that require one. */
export const SCHEMA_NAME = 'output';

/** The output format for a schema that the client wants enforced and has no other fields for. */
export function enforcedSchema(schema: JsonObject): OutputFormat {
  return { kind: 'json-schema', name: SCHEMA_NAME, schema, strict: true };
}

/**
 * Parses `response_format` of chat or `text.format` of responses. `nested`: the field of a `json_schema` format that holds its name and
 * schema. Without it they are fields of the format itself, as some clients send them in chat, too. Other clients send the schema beside
 * `json_object`.
 */
export function parseOutputFormat(owner: JsonObject, field: string, path: string, nested?: string): OutputFormat {
  const format = readOptionalObject(owner, field, path);
  if (format === undefined) return { kind: 'text' };
  const formatPath = fieldPath(path, field);
  switch (readName(format, 'type', formatPath)) {
    case 'text':
      return { kind: 'text' };
    case 'json_object':
      return isAbsent(format.schema) || (isObject(format.schema) && Object.keys(format.schema).length === 0)
        ? { kind: 'json-object' }
        : enforcedSchema(readObject(format, 'schema', formatPath));
    case 'json_schema': {
      const isFlat = nested === undefined || (isAbsent(format[nested]) && !isAbsent(format.schema));
      return isFlat
        ? parseJsonSchema(format, formatPath)
        : parseJsonSchema(readObject(format, nested, formatPath), fieldPath(formatPath, nested));
    }
    default:
      throw invalidField(`${formatPath}.type`, 'must be one of text, json_object, json_schema');
  }
}

function parseJsonSchema(format: JsonObject, path: string): OutputFormat {
  return {
    kind: 'json-schema',
    name: isAbsent(format.name) ? SCHEMA_NAME : readName(format, 'name', path),
    schema: readObject(format, 'schema', path),
    strict: readOptionalTrue(format, 'strict', path),
    description: readOptionalString(format, 'description', path),
  };
}
