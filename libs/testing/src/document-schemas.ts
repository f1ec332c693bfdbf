import { Ajv2020 } from 'ajv/dist/2020.js';

/** The schemas of an OpenAPI 3.1 document, to hold values against. */
export class DocumentSchemas {
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(document: object) {
    this.ajv.addSchema(document, 'document');
  }

  /** What the schema at a place of the document has against a value, a line a fault; empty for nothing. */
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

/**
 * A copy of a document in which objects have the properties it names and no others. Clients must accept more, and so the document
 * itself leaves it open; a test of replies wants to know of every field that is not described.
 */
export function closed(document: object): object {
  return JSON.parse(JSON.stringify(document), (_key, value) =>
    value?.type === 'object' && value.properties !== undefined && value.additionalProperties === undefined
      ? { ...value, additionalProperties: false }
      : value,
  );
}
