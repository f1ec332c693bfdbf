/** A JSON Schema as the documents of the project have them. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: boolean | Schema;
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  [keyword: string]: unknown;
}

const BOUNDS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'pattern', 'format', 'default'];

/** Renders the section of each named schema: its text, and a table of its fields. */
export function renderSchemas(schemas: Record<string, Schema>): string {
  return Object.entries(schemas)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `### ${name}\n\n${renderSchema(schema)}`)
    .join('\n\n');
}

/** Renders the text of a schema and a table of its fields, or its type where it has no fields. */
export function renderSchema(schema: Schema): string {
  const fields = Object.entries(schema.properties ?? {});
  const text = schema.description ? `${escapeMarkup(schema.description)}\n\n` : '';
  if (fields.length === 0) return `${text}${describeType(schema)}`;
  const rows = fields.map(([name, field]) => {
    const required = schema.required?.includes(name) ? 'yes' : '';
    return `| \`${name}\` | ${cell(describeType(field))} | ${required} | ${cell(escapeMarkup(field.description ?? ''))} |`;
  });
  return `${text}| field | type | required | meaning |\n|---|---|---|---|\n${rows.join('\n')}`;
}

/** Describes the type of a value in words, with links to the sections of named schemas. */
export function describeType(schema: Schema): string {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1) ?? '';
    return `[${name}](#${name.toLowerCase()})`;
  }
  if ('const' in schema) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(', ');
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) return [...new Set(choices.map(describeType))].join(' or ');
  if (schema.allOf) return schema.allOf.map(describeType).join(' and ');
  const bounds = BOUNDS.filter((bound) => schema[bound] !== undefined).map((bound) => `${bound} \`${JSON.stringify(schema[bound])}\``);
  return [describeBareType(schema), ...bounds].join(', ');
}

function describeBareType({ type, items, additionalProperties }: Schema): string {
  const types = [type ?? []].flat();
  if (types.includes('array')) return `list of ${items ? describeType(items) : 'any values'}${types.includes('null') ? ' or null' : ''}`;
  if (types.includes('object') && typeof additionalProperties === 'object')
    return `object, each value: ${describeType(additionalProperties)}`;
  return types.length === 0 ? 'any value' : types.join(' or ');
}

/** Keeps a text within one cell of a table. */
export function cell(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|');
}

/** Keeps angle brackets outside code from becoming markup. */
export function escapeMarkup(text: string): string {
  return text.replace(/(`[^`]*`)|</g, (_, code?: string) => code ?? '&lt;');
}
