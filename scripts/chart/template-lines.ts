/** Text of Helm templates for objects that differ by component. */
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';

type Form = 'text' | 'block' | 'optional' | 'append';
type Fields = Record<string, unknown>;

/** The value that a part of an object has when a component is enabled. */
interface Variant<Value = unknown> {
  component: string;
  value: Value;
}

/**
 * A place for a value of the chart. `form` is
 * - `text`: `place` is a template within a line;
 * - `block`: the YAML of the value at `place` stands under its key;
 * - `optional`: the same, and the key is left out when the value is empty;
 * - `append`: the items of the list at `place` follow those of the template.
 */
export class Placeholder {
  readonly form: Form;
  readonly place: string;

  constructor(form: Form, place: string) {
    this.form = form;
    this.place = place;
  }
}

/** Returns the condition that is true when one of `components` is enabled. */
export function anyEnabled(components: string[]): string {
  const conditions = components.map((name) => `.Values.components.${camelCase(name)}.enabled`).join(' ');
  return components.length === 1 ? conditions : `(or ${conditions})`;
}

/** Returns the key of a service or component in the values: `inferenceProxy` for `inference-proxy`. */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
}

export function guarded(condition: string, lines: string[]): string[] {
  return [`{{- if ${condition} }}`, ...lines, '{{- end }}'];
}

/**
 * Returns the lines of a map that renders to `base`, or to the value of a variant `{ component, value }` when its component is enabled.
 * @throws {Error} when two components want different values in one place.
 */
export function mapLines(base: Fields, variants: Variant<Fields>[], pad = ''): string[] {
  const lines = Object.entries(base).flatMap(([key, value]) =>
    entryLines(
      renderLabel(key),
      value,
      renderMembers(variants, (map) => map[key]),
      pad,
    ),
  );
  const added = new Set(variants.flatMap(({ value }) => Object.keys(value)).filter((key) => !(key in base)));
  return [
    ...lines,
    ...[...added].flatMap((key) =>
      addedLines(
        renderLabel(key),
        renderMembers(variants, (map) => map[key]),
        pad,
      ),
    ),
  ];
}

/** Items are the same when they have the same name, or else when they are equal. Added items stand after their predecessor. */
function listLines(base: unknown[], variants: Variant<unknown[]>[], pad: string): string[] {
  const slots = Array.from({ length: base.length + 1 }, () => new Map<string, Variant[]>());
  for (const { component, value: items } of variants) {
    let slot = 0;
    for (const item of items) {
      const at = base.findIndex((other) => identity(other) === identity(item));
      const members = slots[slot];
      if (at >= 0) slot = at + 1;
      else members?.set(identity(item), [...(members.get(identity(item)) ?? []), { component, value: item }]);
    }
  }
  const addedAt = (slot: number): string[] => [...(slots[slot]?.values() ?? [])].flatMap((members) => addedLines('-', members, pad));
  const itemLines = (item: unknown): string[] =>
    entryLines(
      '-',
      item,
      renderMembers(variants, (items) => items.find((other) => identity(other) === identity(item))),
      pad,
    );
  return [...addedAt(0), ...base.flatMap((item, at) => [...itemLines(item), ...addedAt(at + 1)])];
}

/** Lines of one key or item that exists in the base. */
function entryLines(label: string, value: unknown, variants: Variant[], pad: string): string[] {
  const different = variants.filter((variant) => !isDeepStrictEqual(variant.value, value));
  const without = different.filter((variant) => variant.value === undefined).map(({ component }) => component);
  const changed = different.filter((variant) => variant.value !== undefined);
  if (without.length > 0) return guarded(`not ${anyEnabled(without)}`, entryLines(label, value, changed, pad));
  const [other] = changed;
  if (other === undefined) return plainLines(label, value, pad);
  if (Array.isArray(value) && changed.every(hasList)) return [`${pad}${label}`, ...listLines(value, changed, `${pad}  `)];
  if (isMap(value) && changed.every(hasMap)) return headed(label, mapLines(value, changed, `${pad}  `), pad);
  if (changed.length > 1) throw new Error(`${label} of ${changed.map(({ component }) => component).join(' and ')} differ`);
  return guarded(anyEnabled([other.component]), [...plainLines(label, other.value, pad), '{{- else }}', ...plainLines(label, value, pad)]);
}

/** Lines of one key or item that only components have. */
function addedLines(label: string, variants: Variant[], pad: string): string[] {
  const having = variants.filter(({ value }) => value !== undefined);
  const value = having[0]?.value;
  if (having.some((other) => !isDeepStrictEqual(other.value, value))) throw new Error(`components add different values: ${label}`);
  return guarded(anyEnabled(having.map(({ component }) => component)), plainLines(label, value, pad));
}

function plainLines(label: string, value: unknown, pad: string): string[] {
  if (value instanceof Placeholder) return placeholderLines(label, value, pad);
  if (Array.isArray(value) && value.length > 0) {
    return headed(
      label,
      value.flatMap((item) => plainLines('-', item, `${pad}  `)),
      pad,
    );
  }
  if (isMap(value) && Object.keys(value).length > 0) return headed(label, mapLines(value, [], `${pad}  `), pad);
  if (JSON.stringify(value).includes('{{')) throw new Error(`${label} looks like a template`);
  const [text, ...more] = stringify(value, { lineWidth: 0, blockQuote: 'literal' }).trimEnd().split('\n');
  return [`${pad}${label} ${text}`, ...more.map((line) => (line === '' ? '' : `${pad}  ${line}`))];
}

function placeholderLines(label: string, { form, place }: Placeholder, pad: string): string[] {
  if (form === 'text') return [`${pad}${label} ${place}`];
  if (form === 'append') return guarded(place, [`{{- toYaml ${place} | nindent ${pad.length} }}`]);
  const block = [`${pad}${label}`, `{{- toYaml ${place} | nindent ${pad.length + 2} }}`];
  return form === 'optional' ? guarded(place, block) : block;
}

/** A key above its lines; a dash in front of the first line, where that is no condition. */
function headed(label: string, lines: string[], pad: string): string[] {
  const [first = '', ...rest] = lines;
  if (label !== '-' || first.startsWith('{{')) return [`${pad}${label}`, ...lines];
  return [`${pad}- ${first.trimStart()}`, ...rest];
}

function renderMembers<Value>(variants: Variant<Value>[], member: (value: Value) => unknown): Variant[] {
  return variants.map(({ component, value }) => ({ component, value: member(value) }));
}

function identity(item: unknown): string {
  return isMap(item) && 'name' in item ? `name ${item.name}` : JSON.stringify(item);
}

function hasList(variant: Variant): variant is Variant<unknown[]> {
  return Array.isArray(variant.value);
}

function hasMap(variant: Variant): variant is Variant<Fields> {
  return isMap(variant.value);
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Placeholder);
}

function renderLabel(key: string): string {
  return `${stringify(key).trim()}:`;
}
