import { type ValidationError, validateSync } from 'class-validator';
import { describeSchema, instantiate, isRecord, type MessageSchema } from './validate-payload.js';

/** Fields and indices from the top of a payload. */
type FaultPath = (string | number)[];

/** A fault of one field. The problem is a predicate, such as `must be an integer number`. */
export interface PayloadFault {
  path: FaultPath;
  problem: string;
}

/**
 * Finds every fault of a payload that people write: also fields that the message class does not have, and null in a field that it does not
 * clear, which `validatePayload` takes for absent.
 */
export function findFaults(type: new () => object, payload: unknown): PayloadFault[] {
  const schema = describeSchema(type);
  if (!isRecord(payload)) return [{ path: [], problem: NO_OBJECT }];
  const faults = findForms(schema, payload, []);
  // class-validator takes ten times as long, so it only names the faults.
  if (faults.length === 0 && schema.parse(payload) !== undefined) return [];
  // The rules would report these again, in other words: a list with one that is no group of fields as a whole.
  const known = new Set(faults.flatMap(({ path }) => [path.join('.'), path.slice(0, -1).join('.')]));
  const errors = validateSync(instantiate(schema, payload), { forbidUnknownValues: false, stopAtFirstError: true });
  return [...faults, ...flatten(errors, []).filter(({ path }) => !known.has(path.join('.')))];
}

const NO_OBJECT = 'must be a group of fields';

/** Finds unknown fields, nulls, and values that are no group of fields where there must be one. */
function findForms({ fields }: MessageSchema, payload: Record<string, unknown>, path: FaultPath): PayloadFault[] {
  const names = new Map(fields.map((field) => [field.name, field]));
  return Object.entries(payload).flatMap(([name, value]): PayloadFault[] => {
    const field = names.get(name);
    const at = [...path, name];
    if (!field) return [{ path: at, problem: 'is not a field' }];
    if (value === null)
      return field.isClearable ? [] : [{ path: at, problem: 'must not be empty: leave the field out, or write [] for none' }];
    const { nested } = field;
    if (!nested || value === undefined) return [];
    const one = (item: unknown, place: FaultPath): PayloadFault[] =>
      isRecord(item) ? findForms(nested, item, place) : [{ path: place, problem: NO_OBJECT }];
    if (!field.isList) return one(value, at);
    return Array.isArray(value) ? value.flatMap((item, index) => one(item, [...at, index])) : [{ path: at, problem: 'must be a list' }];
  });
}

function flatten(errors: readonly ValidationError[], parent: FaultPath): PayloadFault[] {
  return errors.flatMap(({ property, constraints, children = [], value }) => {
    const path = [...parent, /^\d+$/.test(property) ? Number(property) : property];
    const [rule] = Object.values(constraints ?? {});
    const own = rule === undefined ? [] : [{ path, problem: value === undefined ? 'is missing' : withoutName(rule, property) }];
    return [...own, ...flatten(children, path)];
  });
}

/** Rules of the items of a list begin with `each value in`. */
function withoutName(rule: string, property: string): string {
  return rule.startsWith(`${property} `) ? rule.slice(property.length + 1) : rule.replace(`each value in ${property} `, 'each value ');
}
