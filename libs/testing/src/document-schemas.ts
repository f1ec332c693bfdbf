import { Ajv2020 } from 'ajv/dist/2020.js';

/** Validates values against the schemas of an OpenAPI 3.1 document. */
export class DocumentSchemas {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });

  constructor(document: object) {
    this.ajv.addSchema(document, 'document');
  }

  /** Faults of a value against the schema at `place`, one line each. */
  faults(value: unknown, ...place: readonly string[]): string[] {
    const pointer = place.map((part) => `/${encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))}`).join('');
    const validate = this.ajv.getSchema(`document#${pointer}`);
    if (validate === undefined) throw new Error(`There is no schema at ${place.join(' ')}.`);
    if (validate(value) === true) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath || 'the value'} ${message}`);
  }

  component(name: string, value: unknown): string[] {
    return this.faults(value, 'components', 'schemas', name);
  }
}

/** Returns a copy of the document that forbids undocumented properties, so that tests find them. Clients must accept them. */
export function closed(document: object): object {
  return JSON.parse(JSON.stringify(document), (_key, value) =>
    value?.type === 'object' && value.properties !== undefined && value.additionalProperties === undefined
      ? { ...value, additionalProperties: false }
      : value,
  );
}
