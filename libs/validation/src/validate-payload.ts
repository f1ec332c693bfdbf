import 'reflect-metadata';
import { TransformationType, type TransformFnParams } from 'class-transformer';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, length, type ValidationError, ValidationTypes, validateSync } from 'class-validator';
import { CLEARABLE } from '#contracts/billing/fields.js';
import { ServiceError } from '#contracts/service-error.js';

type MessageClass<Message extends object> = new () => Message;

/**
 * Returns a parsed payload as an instance of its message class: unknown fields are dropped, and null means absent, except in a field that it
 * clears.
 * @throws {ServiceError} `invalid_request` with the first fault, naming the field as a path: `settles[0].usage.promptTokens`.
 */
export function validatePayload<Message extends object>(type: MessageClass<Message>, payload: unknown): Message {
  if (!isRecord(payload)) throw new ServiceError('invalid_request', 'The request must be a JSON object.');
  const schema = describeSchema(type);
  const message = schema.parse(payload);
  if (message !== undefined) return message as Message;
  // class-validator itself takes ten times as long, so it only names the fault.
  const [fault] = validateSync(instantiate(schema, payload), { forbidUnknownValues: false, stopAtFirstError: true });
  throw fault ? toFault(fault, '') : new TypeError(`${type.name}: the compiled rules refuse a payload that class-validator accepts`);
}

/** A message class, compiled from its decorators. */
export interface MessageSchema {
  type: MessageClass<object>;
  fields: readonly Field[];
  parse: Parse;
}

interface Field {
  name: string;
  isOptional: boolean;
  /** True when null is a value that clears the field. */
  isClearable: boolean;
  transforms: readonly ((params: TransformFnParams) => unknown)[];
  rules: Rule[];
  /** Schema of the field's object, or of each object of its array. */
  nested: MessageSchema | undefined;
  /** True for an array of such objects. */
  isList: boolean;
}

type Rule = (value: unknown) => boolean;

const schemas = new WeakMap<MessageClass<object>, MessageSchema>();

/**
 * Returns the schema of a message class, compiled once from its decorators of class-validator, and from `@Type` and `@Transform`.
 * @throws {TypeError} when a decorator is not supported.
 */
export function describeSchema(type: MessageClass<object>): MessageSchema {
  let schema = schemas.get(type);
  if (schema === undefined) {
    const metadata = getMetadataStorage();
    const byField = metadata.groupByPropertyName(metadata.getTargetValidationMetadatas(type, '', false, false));
    const fields = Object.entries(byField).map(([name, decorators]) => toField(type, name, decorators));
    schema = { type, fields, parse: compile(type, fields) };
    schemas.set(type, schema);
  }
  return schema;
}

type Decorator = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

function toField(type: MessageClass<object>, name: string, decorators: readonly Decorator[]): Field {
  const field: Field = {
    name,
    isOptional: false,
    isClearable: false,
    transforms: listTransforms(type, name),
    rules: [],
    nested: undefined,
    isList: false,
  };
  for (const decorator of decorators) {
    const { groups = [], validateIf }: Partial<Decorator> = decorator;
    if (groups.length > 0 || validateIf !== undefined) throw unsupported(type, decorator);
    if (decorator.name === CLEARABLE) field.isClearable = true;
    else if (decorator.type === ValidationTypes.CUSTOM_VALIDATION) field.rules.push(...listRules(type, decorator));
    else if (decorator.type === ValidationTypes.NESTED_VALIDATION) {
      field.nested = nestedSchema(type, decorator);
      field.isList = decorator.each;
    } else if (decorator.name === 'isOptional') field.isOptional = true;
    else throw unsupported(type, decorator);
  }
  return field;
}

function listTransforms(type: MessageClass<object>, name: string): Field['transforms'] {
  const found = defaultMetadataStorage.findTransformMetadatas(type, name, TransformationType.PLAIN_TO_CLASS);
  return found.map(({ transformFn }) => transformFn);
}

function nestedSchema(type: MessageClass<object>, decorator: Decorator): MessageSchema {
  const nested = defaultMetadataStorage.findTypeMetadata(type, decorator.propertyName)?.typeFunction();
  if (typeof nested !== 'function') throw unsupported(type, decorator);
  return describeSchema(nested as MessageClass<object>);
}

/** A rule gets the value and the constraints of the decorator, not the object that has the field, so it cannot compare two fields. */
function listRules(type: MessageClass<object>, decorator: Decorator): Rule[] {
  const { constraintCls, constraints, propertyName: property } = decorator;
  return getMetadataStorage()
    .getTargetValidatorConstraints(constraintCls)
    .map(({ instance, async, name }) => {
      if (async) throw unsupported(type, decorator);
      const context = { targetName: type.name, property, constraints, value: undefined, object: undefined as never };
      const rule = FAST_RULES[name]?.(...((constraints ?? []) as never[])) ?? ((value) => instance.validate(value, context) === true);
      return decorator.each ? (value) => (Array.isArray(value) ? value.every(rule) : rule(value)) : rule;
    });
}

/** Faster versions of the string rules that messages of the hot path use most. */
const FAST_RULES: Record<string, (...constraints: never[]) => Rule | undefined> = {
  isUuid: (version: string) => (version === 'loose' ? (value) => typeof value === 'string' && UUID.test(value) : undefined),
  matches: (pattern: RegExp) => (pattern.flags === '' ? (value) => typeof value === 'string' && pattern.test(value) : undefined),
  // class-validator counts a surrogate pair as one character, so it decides about longer texts.
  isLength: (min: number, max: number) => (value) =>
    (typeof value === 'string' && min <= 1 && value.length >= min && value.length <= max) || length(value, min, max),
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function unsupported(type: MessageClass<object>, { name, type: kind, propertyName }: Decorator): TypeError {
  return new TypeError(`${type.name}.${propertyName}: the decorator ${name ?? kind} is not supported on messages`);
}

/** Returns an instance of the message class; undefined when a rule refuses the payload. */
type Parse = (payload: Record<string, unknown>) => object | undefined;

/**
 * Writes the function that checks a payload field by field. Code made for one class is as fast as code written by hand; one loop over the
 * fields of all classes takes three times as long. Nothing of a payload gets into the code.
 */
function compile(type: MessageClass<object>, fields: readonly Field[]): Parse {
  const bound: Record<string, unknown> = { type, parseOne, parseEach };
  const bind = (value: unknown): string => {
    const name = `bound${Object.keys(bound).length}`;
    bound[name] = value;
    return name;
  };
  const lines = fields.map(({ name, isOptional, isClearable, transforms, rules, nested, isList }) => {
    const key = JSON.stringify(name);
    const transformed = transforms.map(
      (one) => `value = ${bind(one)}({ value, key: ${key}, obj: payload, type: ${TransformationType.PLAIN_TO_CLASS}, options: {} });`,
    );
    const checked = rules.map((rule) => `if (!${bind(rule)}(value)) return undefined;`);
    const parsed = nested && `value = ${isList ? 'parseEach' : 'parseOne'}(value, ${bind(nested.parse)}); if (!value) return undefined;`;
    const cleared = isClearable ? `if (value === null) message[${key}] = null; else ` : '';
    const taken = `${[...checked, parsed].join(' ')} message[${key}] = value;`;
    return `value = payload[${key}]; ${transformed.join(' ')} ${cleared}${isOptional ? `if (value !== undefined && value !== null) { ${taken} }` : taken}`;
  });
  const code = `return (payload) => { const message = new type(); let value;\n${lines.join('\n')}\nreturn message; }`;
  return new Function(...Object.keys(bound), code)(...Object.values(bound)) as Parse;
}

function parseOne(value: unknown, parse: Parse): object | undefined {
  return isRecord(value) ? parse(value) : undefined;
}

function parseEach(values: readonly unknown[], parse: Parse): object[] | undefined {
  const messages = values.map((value) => parseOne(value, parse));
  return messages.includes(undefined) ? undefined : (messages as object[]);
}

/** Returns an unchecked instance for class-validator to judge. */
export function instantiate({ type: Type, fields }: MessageSchema, payload: Record<string, unknown>): object {
  const message = new Type() as Record<string, unknown>;
  for (const { name, transforms, nested } of fields) {
    const value = transformed(transforms, payload, name);
    const one = (item: unknown): unknown => (nested && isRecord(item) ? instantiate(nested, item) : item);
    message[name] = Array.isArray(value) ? value.map(one) : one(value);
  }
  return message;
}

function transformed(transforms: Field['transforms'], payload: Record<string, unknown>, key: string): unknown {
  let value = payload[key];
  for (const transform of transforms) {
    value = transform({ value, key, obj: payload, type: TransformationType.PLAIN_TO_CLASS, options: {} });
  }
  return value;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toFault(fault: ValidationError, parent: string): ServiceError {
  const path = join(parent, fault.property);
  const [constraint] = Object.values(fault.constraints ?? {});
  const [child] = fault.children ?? [];
  if (constraint === undefined && child !== undefined) return toFault(child, path);
  if (fault.value === undefined) return new ServiceError('invalid_request', `${path} is missing`, path);
  const rule = constraint ?? `${fault.property} is invalid`;
  return new ServiceError(
    'invalid_request',
    rule.startsWith(fault.property) ? path + rule.slice(fault.property.length) : `${path}: ${rule}`,
    path,
  );
}

function join(parent: string, property: string): string {
  if (/^\d+$/.test(property)) return `${parent}[${property}]`;
  return parent === '' ? property : `${parent}.${property}`;
}
