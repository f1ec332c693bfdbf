import { cell, describeType, escapeMarkup, renderSchemas, type Schema } from './schema-table.ts';

/** Parts of an OpenAPI document that the site shows. */
export interface OpenApi {
  info: { title: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Reply>; parameters?: Record<string, Parameter> };
}

interface Operation {
  summary?: string;
  description?: string;
  parameters?: (Parameter & { $ref?: string })[];
  requestBody?: Reply;
  responses: Record<string, Reply & { $ref?: string }>;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
}

interface Reply {
  description?: string;
  content?: Record<string, { schema?: Schema }>;
}

/** Renders a page of an OpenAPI document: each operation with its parameters, body and replies, then the fields of every schema. */
export function renderHttpReference(document: OpenApi, { title, source }: { title: string; source: string }): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => renderOperation(`${method.toUpperCase()} ${path}`, operation, document)),
  );
  return [
    `# ${title}\n\n${escapeMarkup(document.info.description ?? '')}\n\nThe document: [${source}](/${source}).`,
    '## Operations',
    ...operations,
    '## Schemas',
    renderSchemas(document.components.schemas),
    '',
  ].join('\n\n');
}

function renderOperation(heading: string, operation: Operation, { components }: OpenApi): string {
  const parameters = (operation.parameters ?? []).map((parameter) => resolve(parameter, components.parameters));
  const rows = parameters.map(
    ({ name, in: place, required, description = '', schema = {} }) =>
      `| \`${name}\` | ${place} | ${cell(describeType(schema))} | ${required ? 'yes' : ''} | ${cell(escapeMarkup(description))} |`,
  );
  const replies = Object.entries(operation.responses).map(([status, reply]) => {
    const resolved = resolve(reply, components.responses);
    return `| ${status} | ${cell(escapeMarkup(resolved.description ?? ''))} | ${cell(describeContent(resolved))} |`;
  });
  return [
    `### \`${heading}\``,
    escapeMarkup([operation.summary && `${operation.summary}.`, operation.description].filter(Boolean).join(' ')),
    ...(rows.length > 0 ? [`| parameter | in | type | required | meaning |\n|---|---|---|---|---|\n${rows.join('\n')}`] : []),
    ...(operation.requestBody ? [`Body: ${describeContent(operation.requestBody)}`] : []),
    `| status | meaning | body |\n|---|---|---|\n${replies.join('\n')}`,
  ].join('\n\n');
}

function describeContent({ content = {} }: Reply): string {
  return Object.entries(content)
    .map(([type, { schema }]) => (schema ? `${describeType(schema)} (\`${type}\`)` : `\`${type}\``))
    .join(', ');
}

function resolve<T extends object>(value: T & { $ref?: string }, components: Record<string, T> = {}): T {
  return value.$ref ? (components[value.$ref.split('/').at(-1) ?? ''] ?? value) : value;
}
