import {
  getMetadataStorage,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Max,
  Min,
  MinLength,
  type ValidationArguments,
  type ValidationError,
  validateSync,
} from 'class-validator';
import { invalidField, isAbsent, type JsonObject } from './body-fields.js';

/**
 * Validates the flat fields of a body and returns them as an instance of the DTO. Undeclared fields are not read, so messages and schemas
 * are not cloned or stripped. `null` counts as absent. Throws `invalid_request` with the first invalid field.
 */
export function validateFields<Fields extends object>(Fields: new () => Fields, body: JsonObject): Fields {
  const fields = new Fields();
  let isValid = true;
  for (const { field, isOptional, checks } of rulesOf(Fields)) {
    const value = body[field];
    if (isAbsent(value)) {
      isValid &&= isOptional;
    } else {
      (fields as JsonObject)[field] = value;
      isValid &&= checks.every((check) => check(value));
    }
  }
  if (isValid) return fields;
  const [fault] = validateSync(fields, { forbidUnknownValues: false, validationError: { target: false, value: false } });
  throw refusalOf(fault ?? { property: 'body' });
}

/** A required string. All its rules share one message, because class-validator decides which rule is reported first. */
export function RequiredText(): PropertyDecorator {
  const message = 'is required and must be a string that is not empty';
  return all(IsString({ message }), MinLength(1, { message }));
}

/** An optional number in a closed range. */
export function NumberBetween(least: number, most: number): PropertyDecorator {
  const message = `must be a number from ${least} to ${most}`;
  return all(IsOptional(), IsNumber({}, { message }), Min(least, { message }), Max(most, { message }));
}

/** An optional integer of at least 1. Beyond 2^53 a JSON number loses digits. */
export function PositiveInteger(): PropertyDecorator {
  const message = 'must be a positive integer';
  return all(IsOptional(), IsInt({ message }), Min(1, { message }), Max(Number.MAX_SAFE_INTEGER, { message }));
}

function all(...decorators: PropertyDecorator[]): PropertyDecorator {
  return (target, property) => {
    for (const decorate of decorators) decorate(target, property);
  };
}

interface FieldRules {
  field: string;
  isOptional: boolean;
  checks: ((value: unknown) => boolean)[];
}

const knownRules = new WeakMap<new () => object, FieldRules[]>();

/**
 * Returns the rules of a DTO, collected once from its decorators. `validateSync` looks them up and builds a report for every body, which
 * is a tenth of the gateway's work for a small request; it runs only for invalid bodies.
 */
function rulesOf(Fields: new () => object): FieldRules[] {
  let rules = knownRules.get(Fields);
  if (rules === undefined) {
    const storage = getMetadataStorage();
    const declared = storage.getTargetValidationMetadatas(Fields, '', false, false);
    // A new instance lists all class fields.
    rules = Object.keys(new Fields()).map((field) => {
      const ofField = declared.filter(({ propertyName }) => propertyName === field);
      return {
        field,
        isOptional: ofField.some(({ type }) => type === 'conditionalValidation'),
        checks: ofField
          .filter(({ type }) => type === 'customValidation')
          .flatMap(({ constraintCls, constraints }) =>
            storage.getTargetValidatorConstraints(constraintCls).map(
              ({ instance }) =>
                (value: unknown) =>
                  instance.validate(value, { constraints } as ValidationArguments) === true,
            ),
          ),
      };
    });
    knownRules.set(Fields, rules);
  }
  return rules;
}

/** Returns the error of a field. Unlike the decorators above, class-validator's messages begin with the property. */
function refusalOf({ property, constraints }: Pick<ValidationError, 'property' | 'constraints'>): Error {
  const [message = 'is not valid'] = Object.values(constraints ?? {});
  return invalidField(property, message.startsWith(`${property} `) ? message.slice(property.length + 1) : message);
}
