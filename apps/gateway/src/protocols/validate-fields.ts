import 'reflect-metadata';
import { plainToInstance } from 'class-transformer';
import { IsInt, IsNumber, IsOptional, IsString, Max, Min, MinLength, type ValidationError, validateSync } from 'class-validator';
import { fieldPath, invalidField, isAbsent, type JsonObject } from './body-fields.js';

/**
 * Checks the flat fields of a body against a DTO and returns an instance of it; whatever the DTO does not declare is not
 * looked at, so nothing that is passed on verbatim (messages, schemas) is cloned or stripped. `null` is absent (C-1).
 * Throws `invalid_request` naming the first field at fault.
 */
export function validateFields<Fields extends object>(Fields: new () => Fields, body: JsonObject): Fields {
  const declared: JsonObject = {};
  for (const field of fieldsOf(Fields)) if (!isAbsent(body[field])) declared[field] = body[field];
  const fields = plainToInstance(Fields, declared);
  const [fault] = validateSync(fields, { forbidUnknownValues: false, validationError: { target: false, value: false } });
  if (fault !== undefined) throw refusalOf(fault, '');
  return fields;
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

const knownFields = new WeakMap<new () => object, string[]>();

/** Class fields are defined on every instance, so that a fresh one lists them. */
function fieldsOf(Fields: new () => object): string[] {
  let fields = knownFields.get(Fields);
  if (fields === undefined) {
    fields = Object.keys(new Fields());
    knownFields.set(Fields, fields);
  }
  return fields;
}

/** Our own decorators say only the rule; the library's default messages begin with the name of the property. */
function refusalOf(fault: ValidationError, path: string): Error {
  const param = fieldPath(path, fault.property);
  const [child] = fault.children ?? [];
  if (child !== undefined) return refusalOf(child, param);
  const [message = 'is not valid'] = Object.values(fault.constraints ?? {});
  const rule = message.startsWith(`${fault.property} `) ? message.slice(fault.property.length + 1) : message;
  return invalidField(param, rule);
}
