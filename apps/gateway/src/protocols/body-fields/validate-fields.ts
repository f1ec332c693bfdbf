import { IsInt, IsNumber, IsOptional, IsString, Max, Min, MinLength, type ValidationError, validateSync } from 'class-validator';
import { describeSchema } from '#validation/validate-payload.js';
import { invalidField, isAbsent, type JsonObject } from './body-fields.js';

/**
 * Validates the flat fields of a body and returns them as an instance of the DTO. Undeclared fields are not read, so messages and schemas
 * are not cloned or stripped. `null` counts as absent. Throws `invalid_request` with the first invalid field.
 */
export function validateFields<Fields extends object>(Fields: new () => Fields, body: JsonObject): Fields {
  const valid = describeSchema(Fields).parse(body);
  if (valid !== undefined) return valid as Fields;
  // class-validator itself takes many times as long, so it only names the fault.
  const present = Object.keys(new Fields()).filter((field) => !isAbsent(body[field]));
  const fields = Object.assign(new Fields(), Object.fromEntries(present.map((field) => [field, body[field]])));
  const [fault] = validateSync(fields, { forbidUnknownValues: false, validationError: { target: false, value: false } });
  throw toRefusal(fault ?? { property: 'body' });
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

/** Returns the error of a field. Unlike the decorators above, class-validator's messages begin with the property. */
function toRefusal({ property, constraints }: Pick<ValidationError, 'property' | 'constraints'>): Error {
  const [message = 'is not valid'] = Object.values(constraints ?? {});
  return invalidField(property, message.startsWith(`${property} `) ? message.slice(property.length + 1) : message);
}
