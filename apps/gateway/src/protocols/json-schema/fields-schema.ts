import 'reflect-metadata';
import { getMetadataStorage } from 'class-validator';
import { described, type JsonSchema, type Properties } from './json-schema.js';

interface FieldSchemas {
  required: Properties;
  optional: Properties;
}

/** Returns the JSON Schema of a DTO's fields, derived from its decorators. Each field needs a description. */
export function fieldSchemas<Fields extends object>(
  Fields: new () => Fields,
  descriptions: Readonly<Record<keyof Fields & string, string>>,
): FieldSchemas {
  const required: Record<string, JsonSchema> = {};
  const optional: Record<string, JsonSchema> = {};
  for (const [field, description] of Object.entries<string>(descriptions)) {
    const rules = listRules(Fields, field);
    const isOptional = rules.some(({ name }) => name === 'isOptional');
    (isOptional ? optional : required)[field] = described(Object.assign({}, ...rules.map(renderKeywords)), description);
  }
  return { required, optional };
}

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

function listRules(Fields: new () => object, field: string): Rule[] {
  const rules = getMetadataStorage().getTargetValidationMetadatas(Fields, '', false, false);
  return rules.filter(({ propertyName }) => propertyName === field);
}

function renderKeywords({ name, type, constraints }: Rule): JsonSchema {
  const [constraint] = constraints ?? [];
  switch (name ?? type) {
    case 'isOptional':
      return {};
    case 'isString':
      return { type: 'string' };
    case 'minLength':
      return { minLength: constraint };
    case 'isBoolean':
      return { type: 'boolean' };
    case 'isInt':
      return { type: 'integer' };
    case 'isNumber':
      return { type: 'number' };
    case 'min':
      return { minimum: constraint };
    case 'max':
      return { maximum: constraint };
    case 'isIn':
      return { type: 'string', enum: constraint };
    case 'equals':
      return { type: typeof constraint, const: constraint };
    default:
      throw new Error(`fields-schema.ts has no JSON Schema for the rule ${name ?? type}.`);
  }
}
