import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { everyEndpoint, everyStreamEndpoint, everyTopic } from '#contracts/every-contract.js';

/** Checks docs/asyncapi.yaml against the contracts and AsyncAPI 3, and docs/nats-api.md against its examples. */

interface Document {
  asyncapi: string;
  channels: Record<string, { address: string | null }>;
  operations: Record<string, { action: string; channel: { $ref: string }; reply?: { channel: { $ref: string } } }>;
  components: { schemas: Record<string, object> };
}

const text = readFileSync('docs/asyncapi.yaml', 'utf8');
const document = parse(text) as Document;

function validator(): ValidateFunction {
  const { schemas } = createRequire(import.meta.url)('@asyncapi/specs') as { schemas: Record<string, object> };
  // It includes the meta-schema of JSON Schema, and keywords for editors.
  return new Ajv({ meta: false, validateSchema: false, strict: false, validateFormats: false, allErrors: true }).compile(
    schemas['3.0.0'] as object,
  );
}

test('docs/asyncapi.yaml is current (node scripts/asyncapi.ts writes it)', () => {
  const { stdout, status } = spawnSync(process.execPath, ['scripts/asyncapi.ts', '--print'], {
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  expect({ status, current: stdout === text }).toEqual({ status: 0, current: true });
});

test('the schemas of the tenants file and the catalog file are current (node scripts/tenants-schema.ts writes them)', () => {
  const env = { ...process.env, NODE_OPTIONS: '' };
  const { stdout, status } = spawnSync(process.execPath, ['scripts/tenants-schema.ts', '--print'], { encoding: 'utf8', env });
  const committed = ['tenants', 'catalog'].map((file) => readFileSync(`docs/${file}.schema.json`, 'utf8'));
  expect({ status, current: stdout === committed.join('') }).toEqual({ status: 0, current: true });
});

test('the schema of the catalog file accepts that of the repository, and no misspelt field', () => {
  const validate = new Ajv2020({ strict: false }).compile(JSON.parse(readFileSync('docs/catalog.schema.json', 'utf8')) as object);
  const catalog = parse(readFileSync('config/catalog.yaml', 'utf8')) as { models: object[] };
  expect([validate(catalog), validate.errors]).toEqual([true, null]);
  const [model, ...others] = catalog.models;
  expect(validate({ ...catalog, models: [{ ...model, contextToken: 1 }, ...others] })).toBe(false);
});

test('is valid AsyncAPI 3; an invalid document fails', () => {
  const validate = validator();
  expect({ valid: validate(document), errors: validate.errors }).toEqual({ valid: true, errors: null });
  const { info: _, ...without } = document as Document & { info: object };
  expect(validate(without)).toBe(false);
  expect(validate({ ...document, operations: { x: { action: 'shout', channel: { $ref: '#/channels/accountCreate' } } } })).toBe(false);
});

test('every reference resolves, and every schema is valid', () => {
  const references = [...text.matchAll(/\$ref: "#\/([^"]+)"/g)].map(([, path = '']) => path);
  expect(references.length).toBeGreaterThan(200);
  const missing = references.filter(
    (path) => path.split('/').reduce<unknown>((at, part) => (at as Record<string, unknown> | undefined)?.[part], document) === undefined,
  );
  expect(missing).toEqual([]);
  const ajv = new Ajv({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'asyncapi');
  for (const name of Object.keys(document.components.schemas)) ajv.compile({ $ref: `asyncapi#/components/schemas/${name}` });
});

test('every subject has a channel and an operation', () => {
  const addresses = Object.values(document.operations).map(({ action, channel, reply }) => {
    const { address } = document.channels[channel.$ref.slice('#/channels/'.length)] ?? {};
    return `${action} ${address}${reply ? ' with a reply' : ''}`;
  });
  expect(addresses.sort()).toEqual(
    [
      ...[...everyEndpoint, ...everyStreamEndpoint].map(({ subject }) => `receive ${subject} with a reply`),
      ...everyTopic.map(({ subject }) => `send ${subject}`),
    ].sort(),
  );
});

test('docs/nats-api.md has an example of each subject', () => {
  const page = readFileSync('docs/nats-api.md', 'utf8');
  const asked = new Set(
    [...page.matchAll(/^nats .* request .*?(\S+) '\{/gm)].map(([, subject = '']) => subject.replace(/\.by\.crawler$/, '')),
  );
  const isAsked = (subject: string): boolean =>
    subject.endsWith('.*') ? [...asked].some((one) => one.startsWith(subject.slice(0, -1))) : asked.has(subject);
  expect(everyEndpoint.map(({ subject }) => subject).filter((subject) => !isAsked(subject))).toEqual([]);
  const documented = new Set([...page.matchAll(/^nats .* subscribe (\S+)$/gm)].map(([, subject]) => subject));
  expect(everyTopic.map(({ subject }) => subject).filter((subject) => !documented.has(subject))).toEqual([]);
});
