import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Schema } from '../asyncapi/json-schema.ts';

/** The interfaces that docs/stability.md promises, as far as generated documents and tables describe them. */
export interface Interfaces {
  /** Version of the release that has them. */
  version: string;
  /** Operations and files by area. */
  areas: Record<string, Area>;
  metrics: Record<string, Metric>;
  /** The default of each setting, or `required`. */
  settings: Record<string, string>;
}

/** Operations by name, such as `GET /v1/models` or `receive billing.v1.hold.apply`, and the schemas that they refer to. */
export interface Area {
  operations: Record<string, Operation>;
  schemas: Record<string, Schema>;
}

/** Schemas of the texts that an operation reads and writes: `body`, `parameters` or `message`, and replies by status. */
interface Operation {
  reads: Record<string, Schema>;
  writes: Record<string, Schema>;
}

export interface Metric {
  type: string;
  labels: string[];
}

/** Pages with tables of settings and metrics. */
const TABLES = ['docs/operations.md', 'docs/metrics.md', 'docs/panel.md', 'docs/tracing.md', 'docs/observability.md'];
/** Files that people write, with the area of each. */
const FILES = { 'tenants file': 'docs/tenants.schema.json', 'catalog file': 'docs/catalog.schema.json' };

/** Reads the interfaces of a checkout. A document that it does not have is no interface of it. */
export function readInterfaces(root: string): Interfaces {
  const read = (path: string): string => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '');
  const tables = TABLES.map(read).join('\n\n');
  const documents: [string, Area | undefined][] = [
    ['gateway', openApiArea(read('docs/openapi.json'))],
    ['panel', openApiArea(read('apps/panel/openapi.json'))],
    ['nats', asyncApiArea(read('docs/asyncapi.yaml'))],
    ...Object.entries(FILES).map(([name, path]): [string, Area | undefined] => [name, fileArea(read(path))]),
  ];
  return {
    version: (JSON.parse(read('package.json')) as { version: string }).version,
    areas: Object.fromEntries(documents.filter((entry): entry is [string, Area] => entry[1] !== undefined)),
    metrics: metricsIn(tables),
    settings: settingsIn(tables),
  };
}

interface OpenApi {
  paths: Record<string, Record<string, OpenApiOperation>>;
  components: { schemas?: Record<string, Schema>; responses?: Record<string, Body> };
}

interface OpenApiOperation {
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: Body;
  responses: Record<string, Body & { $ref?: string }>;
}

interface Body {
  content?: Record<string, { schema?: Schema }>;
}

function openApiArea(text: string): Area | undefined {
  if (text === '') return undefined;
  const { paths, components } = JSON.parse(text) as OpenApi;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      {
        reads: { ...readParameters(operation), ...readContent('body', operation.requestBody) },
        writes: Object.assign(
          {},
          ...Object.entries(operation.responses).map(([status, reply]) =>
            readContent(status, reply.$ref ? components.responses?.[reply.$ref.slice('#/components/responses/'.length)] : reply),
          ),
        ),
      },
    ]),
  );
  return { operations: Object.fromEntries(operations), schemas: bareAll(components.schemas) };
}

/** The parameters of an operation as properties of one object. */
function readParameters({ parameters = [] }: OpenApiOperation): Record<string, Schema> {
  if (parameters.length === 0) return {};
  const properties = Object.fromEntries(parameters.map(({ name, schema }) => [name, bare(schema)]));
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  return { parameters: { type: 'object', properties, required } };
}

/** One schema for each type of content; a content without a schema may be anything. */
function readContent(name: string, body: Body | undefined): Record<string, Schema> {
  if (body && !body.content) return { [name]: {} };
  return Object.fromEntries(
    Object.entries(body?.content ?? {}).map(([type, { schema = {} }]) => [
      type === 'application/json' ? name : `${name} ${type}`,
      bare(schema),
    ]),
  );
}

interface AsyncApi {
  channels: Record<string, { address: string | null; messages: Record<string, { payload?: Schema }> }>;
  operations: Record<string, { action: string; channel: { $ref: string }; reply?: { channel: { $ref: string } } }>;
  components: { schemas: Record<string, Schema> };
}

function asyncApiArea(text: string): Area | undefined {
  if (text === '') return undefined;
  // The document is generated: looking for a key that is there twice would take most of the time.
  const { channels, operations, components } = parse(text, { uniqueKeys: false, prettyErrors: false }) as AsyncApi;
  const findChannel = ({ $ref }: { $ref: string }) => channels[$ref.slice('#/channels/'.length)];
  const payload = (channel: { $ref: string } | undefined, message: string): Schema =>
    bare((channel && findChannel(channel)?.messages[message]?.payload) ?? {});
  const named = Object.values(operations).map(({ action, channel, reply }): [string, Operation] => [
    findChannel(channel)?.address ?? '',
    action === 'send'
      ? { reads: {}, writes: { event: payload(channel, 'event') } }
      : { reads: { request: payload(channel, 'request') }, writes: { reply: payload(reply?.channel, 'reply') } },
  ]);
  return { operations: Object.fromEntries(named), schemas: bareAll(components.schemas) };
}

function fileArea(text: string): Area | undefined {
  if (text === '') return undefined;
  const { $defs, ...file } = JSON.parse(text) as Schema & { $defs: Record<string, Schema> };
  return { operations: { file: { reads: { file: bare(file) }, writes: {} } }, schemas: bareAll($defs) };
}

function bareAll(schemas: Record<string, Schema> = {}): Record<string, Schema> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, bare(schema)]));
}

/** Keywords of texts for readers. */
const TEXTS = new Set(['$schema', 'title', 'description', 'example', 'examples', 'deprecated', 'externalDocs']);

/** A schema without the texts for readers. */
function bare(schema: Schema): Schema {
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([keyword]) => !TEXTS.has(keyword) && !keyword.startsWith('x-'))
      .map(([keyword, value]) => {
        if (keyword === 'properties') return [keyword, bareAll(value as Record<string, Schema>)];
        if (Array.isArray(value) && ['allOf', 'anyOf', 'oneOf'].includes(keyword)) return [keyword, value.map(bare)];
        const isSchema = ['items', 'additionalProperties', 'not'].includes(keyword) && typeof value === 'object' && value !== null;
        return [keyword, isSchema ? bare(value as Schema) : value];
      }),
  );
}

function metricsIn(tables: string): Record<string, Metric> {
  const rows = tables.matchAll(/^\| `((?:tollgate|gen_ai)_\w+)` \| (counter|gauge|histogram) \|([^|]*)\|/gm);
  return Object.fromEntries(
    [...rows].map(([, name = '', type = '', labels = '']) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = '']) => label) },
    ]),
  );
}

/** A row may have several names, with one default each or one for all. Settings of several services have one default each. */
function settingsIn(tables: string): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const table of tables.split(/\n\n/)) {
    const [, service] = /^\| ([^|]+) \| default \|/.exec(table) ?? [];
    if (!service) continue;
    for (const row of table.split('\n').slice(2)) {
      const [, names = '', defaults = ''] = row.split('|').map((cell) => cell.trim());
      const values = defaults.split(',').map((value) => value.replaceAll('`', '').trim());
      for (const [index, [, name]] of [...names.matchAll(/`([A-Z][A-Z_]+)`/g)].entries())
        settings[`${name} of ${service}`] = values[values.length === 1 ? 0 : index] ?? '';
    }
  }
  return settings;
}
