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
 * Checks the flat fields of a body against a DTO and returns an instance of it; whatever the DTO does not declare is not
 * looked at, so nothing that is passed on verbatim (messages, schemas) is cloned or stripped. `null` is absent (C-1).
 * Throws `invalid_request` naming the first field at fault.
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

/** A string that has to be there. One sentence for every way to get it wrong: which rule is reported first is not ours to say. */
export function RequiredText(): PropertyDecorator {
  const message = 'is required and must be a string that is not empty';
  return all(IsString({ message }), MinLength(1, { message }));
}

/** An optional number of a closed range. */
export function NumberBetween(least: number, most: number): PropertyDecorator {
  const message = `must be a number from ${least} to ${most}`;
  return all(IsOptional(), IsNumber({}, { message }), Min(least, { message }), Max(most, { message }));
}

/** An optional count of at least one. Beyond 2^53 a number in JSON is not what the client wrote. */
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
 * The rules of a DTO, collected once from its decorators. The library looks them up and builds a report for every body, a
 * tenth of all the gateway does for a small request; here it is asked for a report only when there is something to report.
 */
function rulesOf(Fields: new () => object): FieldRules[] {
  let rules = knownRules.get(Fields);
  if (rules === undefined) {
    const storage = getMetadataStorage();
    const declared = storage.getTargetValidationMetadatas(Fields, '', false, false);
    // Class fields are defined on every instance, so that a fresh one lists them.
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

/** Our own decorators say only the rule; the library's default messages begin with the name of the property. */
function refusalOf({ property, constraints }: Pick<ValidationError, 'property' | 'constraints'>): Error {
  const [message = 'is not valid'] = Object.values(constraints ?? {});
  return invalidField(property, message.startsWith(`${property} `) ? message.slice(property.length + 1) : message);
}
