import type { OutputFormat } from '#inference/request.js';
import { invalidField, isAbsent, isObject, type JsonObject, readObject } from '../body-fields/body-fields.js';
import { enforcedSchema, parseOutputFormat } from '../body-fields/output-format.js';

/** Parses `response_format`, or the field of another server that holds the schema of the reply. */
export function parseOutput(source: JsonObject): OutputFormat {
  const format = parseOutputFormat(source, 'response_format', '', 'json_schema');
  const { structured_outputs: structured } = source;
  // True is a flag of a router's clients.
  const options = structured === true || isEmpty(structured) ? {} : readObject(source, 'structured_outputs', '');
  refuseConstraints(source, '', ['guided_regex', 'guided_choice', 'guided_grammar', 'regex', 'ebnf', 'grammar', 'structural_tag']);
  refuseConstraints(options, 'structured_outputs.', ['regex', 'choice', 'grammar', 'structural_tag']);
  const constraints = [
    ...parseConstraint('guided_json', source.guided_json),
    ...parseConstraint('json_schema', source.json_schema),
    ...parseConstraint('structured_outputs.json', options.json),
    ...(options.json_object === true ? [{ path: 'structured_outputs.json_object', output: { kind: 'json-object' } as const }] : []),
  ];
  return constraints.length === 0 ? format : strictest([{ path: 'response_format', output: format }, ...constraints]);
}

interface Constraint {
  path: string;
  output: OutputFormat;
}

/** Returns the one schema of these, otherwise JSON. Throws when there are two schemas. */
function strictest(constraints: readonly Constraint[]): OutputFormat {
  let first: { path: string; output: OutputFormat & { kind: 'json-schema' } } | undefined;
  for (const { path, output } of constraints) {
    if (output.kind !== 'json-schema') continue;
    if (first === undefined) first = { path, output };
    else if (JSON.stringify(output.schema) === JSON.stringify(first.output.schema)) first.output = { ...first.output, strict: true };
    else throw invalidField(path, `says the same as \`${first.path}\`, with another schema: send one of the two`);
  }
  return first?.output ?? { kind: 'json-object' };
}

/** Throws for a constraint that no upstream can be relied on to enforce: without it the client would get free text. */
function refuseConstraints(owner: JsonObject, path: string, fields: readonly string[]): void {
  for (const field of fields) {
    if (!isEmpty(owner[field])) throw invalidField(`${path}${field}`, 'is not supported: use `response_format` with a JSON Schema');
  }
}

/** Reads a schema: an object, or its JSON text. */
function parseConstraint(path: string, value: unknown): Constraint[] {
  if (isEmpty(value)) return [];
  const schema = typeof value === 'string' ? parsed(value) : value;
  if (!isObject(schema)) throw invalidField(path, 'must be a JSON Schema: an object, or its JSON text');
  return [{ path, output: enforcedSchema(schema) }];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** True for a value that clients send when they do not use the field. */
export function isEmpty(value: unknown): boolean {
  if (isAbsent(value) || value === '' || value === false) return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}
