/** The schema of the chart's values, which Helm checks before it renders: a misspelled value is refused. */

/** Form of a value as the chart's own values show it; lists and free objects need more. */
interface Schema {
  [keyword: string]: unknown;
}

const TEXT = { type: 'string', minLength: 1 };
const NAMED = { type: 'object', required: ['name'], properties: { name: TEXT } };
/** Objects of Kubernetes, which the cluster checks. */
const OBJECTS = { type: 'array', items: { type: 'object' } };

/** Values by their key whose default does not show their form. */
const KNOWN: Record<string, Schema> = {
  tag: { type: ['string', 'null'], description: 'Without a tag it is that of the version of the chart.' },
  imagePullSecrets: { type: 'array', items: NAMED },
  replicas: { type: 'integer', minimum: 0 },
  resources: {
    type: 'object',
    additionalProperties: false,
    properties: { requests: { type: 'object' }, limits: { type: 'object' }, claims: OBJECTS },
  },
  env: {
    type: 'array',
    items: {
      ...{ type: 'object', additionalProperties: false, required: ['name'] },
      properties: { name: { type: 'string', pattern: '^[A-Z][A-Z0-9_]*$' }, value: { type: 'string' }, valueFrom: { type: 'object' } },
    },
  },
  parentRefs: { type: 'array', items: NAMED },
  from: OBJECTS,
  hops: { type: 'integer', minimum: 1 },
  issuerKind: { enum: ['Issuer', 'ClusterIssuer'] },
  storeKind: { enum: ['SecretStore', 'ClusterSecretStore'] },
  panelUrl: { type: 'string', pattern: '^https?://[^/]+$' },
  gatewayUrl: { type: 'string', pattern: '^https?://[^/]+$' },
};

/** Returns the schema of `values`, the parsed values.yaml. Draft 7, as Helm 3 reads it. */
export function valuesSchema(values: object): Schema {
  const schema = describe(values) as { properties: object };
  // Helm passes `global` to every chart, also where this one is part of another.
  const properties = { ...schema.properties, global: { type: 'object' } };
  return { $schema: 'http://json-schema.org/draft-07/schema#', title: 'Values of the chart tollgate', ...schema, properties };
}

function describe(value: unknown): Schema {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const properties = Object.entries(value).map(([key, member]) => [key, KNOWN[key] ?? describe(member)]);
    return { type: 'object', additionalProperties: false, properties: Object.fromEntries(properties) };
  }
  if (typeof value === 'boolean') return { type: 'boolean' };
  if (typeof value === 'string') return TEXT;
  throw new Error(`the form of this value is not described: ${JSON.stringify(value)}`);
}
