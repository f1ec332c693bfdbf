import type { OutputFormat } from '#inference/request.js';
import {
  fieldPath,
  invalidField,
  type JsonObject,
  readName,
  readObject,
  readOptionalObject,
  readOptionalString,
  readOptionalTrue,
} from './body-fields.js';

/**
 * Parses `response_format` of chat or `text.format` of responses. `nested`: the field of a `json_schema` format that holds its name and
 * schema; without it they are fields of the format itself.
 */
export function parseOutputFormat(owner: JsonObject, field: string, path: string, nested?: string): OutputFormat {
  const format = readOptionalObject(owner, field, path);
  if (format === undefined) return { kind: 'text' };
  const formatPath = fieldPath(path, field);
  switch (readName(format, 'type', formatPath)) {
    case 'text':
      return { kind: 'text' };
    case 'json_object':
      return { kind: 'json-object' };
    case 'json_schema':
      return nested === undefined
        ? parseJsonSchema(format, formatPath)
        : parseJsonSchema(readObject(format, nested, formatPath), fieldPath(formatPath, nested));
    default:
      throw invalidField(`${formatPath}.type`, 'must be one of text, json_object, json_schema');
  }
}

function parseJsonSchema(format: JsonObject, path: string): OutputFormat {
  return {
    kind: 'json-schema',
    name: readName(format, 'name', path),
    schema: readObject(format, 'schema', path),
    strict: readOptionalTrue(format, 'strict', path),
    description: readOptionalString(format, 'description', path),
  };
}
