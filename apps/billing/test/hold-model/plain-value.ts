import type { RuntimeValue } from '@informalsystems/quint/dist/src/runtime/impl/runtimeValue.js';

/** A value of Quint in plain JavaScript. Equal values have equal texts in JSON. */
export type Plain = number | boolean | string | Plain[] | { [name: string]: Plain };

/** Fields by the name of the class that keeps them. */
interface Fields {
  constructor: { name: string };
  value: unknown;
  label: string;
  map: ReadonlyMap<unknown, RuntimeValue>;
}

/** Maps and records have their keys in order, sets are lists in order, and a variant is a list of its label and its value. */
export function toPlain(value: RuntimeValue): Plain {
  const fields = value as unknown as Fields;
  switch (fields.constructor.name) {
    case 'RuntimeValueInt':
      return Number(fields.value);
    case 'RuntimeValueBool':
    case 'RuntimeValueStr':
      return fields.value as boolean | string;
    case 'RuntimeValueVariant':
      return [fields.label, toPlain(fields.value as RuntimeValue)];
    case 'RuntimeValueRecord':
      return inOrder(Array.from(fields.map, ([name, one]) => [name as string, toPlain(one)]));
    case 'RuntimeValueMap':
      return inOrder(Array.from(fields.map, ([key, one]) => [String(toPlain(key as RuntimeValue)), toPlain(one)]));
    default:
      return Array.from(value, (one) => toPlain(one)).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  }
}

function inOrder(entries: [string, Plain][]): Plain {
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}
