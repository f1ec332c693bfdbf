/** Text of Helm templates for objects that differ by component. */
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';

/**
 * A place for a value of the chart. `form` is
 * - `text`: `place` is a template within a line;
 * - `block`: the YAML of the value at `place` stands under its key;
 * - `optional`: the same, and the key is left out when the value is empty;
 * - `append`: the items of the list at `place` follow those of the template.
 */
export class Placeholder {
  constructor(form, place) {
    this.form = form;
    this.place = place;
  }
}

/** Returns the condition that is true when one of `components` is enabled. */
export function anyEnabled(components) {
  const conditions = components.map((name) => `.Values.components.${camelCase(name)}.enabled`);
  return conditions.length === 1 ? conditions[0] : `(or ${conditions.join(' ')})`;
}

/** Returns the key of a service or component in the values: `inferenceProxy` for `inference-proxy`. */
export function camelCase(name) {
  return name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());
}

export function guarded(condition, lines) {
  return [`{{- if ${condition} }}`, ...lines, '{{- end }}'];
}

/**
 * Returns the lines of a map that renders to `base`, or to the value of a variant `{ component, value }` when its component is enabled.
 * @throws {Error} when two components want different values in one place.
 */
export function mapLines(base, variants, pad = '') {
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
function listLines(base, variants, pad) {
  const slots = Array.from({ length: base.length + 1 }, () => new Map());
  for (const { component, value: items } of variants) {
    let slot = 0;
    for (const item of items) {
      const at = base.findIndex((other) => identity(other) === identity(item));
      if (at >= 0) slot = at + 1;
      else slots[slot].set(identity(item), [...(slots[slot].get(identity(item)) ?? []), { component, value: item }]);
    }
  }
  const addedAt = (slot) => [...slots[slot].values()].flatMap((members) => addedLines('-', members, pad));
  const itemLines = (item) =>
    entryLines(
      '-',
      item,
      renderMembers(variants, (items) => items.find((other) => identity(other) === identity(item))),
      pad,
    );
  return [...addedAt(0), ...base.flatMap((item, at) => [...itemLines(item), ...addedAt(at + 1)])];
}

/** Lines of one key or item that exists in the base. */
function entryLines(label, value, variants, pad) {
  const different = variants.filter((variant) => !isDeepStrictEqual(variant.value, value));
  const without = different.filter((variant) => variant.value === undefined).map(({ component }) => component);
  const changed = different.filter((variant) => variant.value !== undefined);
  if (without.length > 0) return guarded(`not ${anyEnabled(without)}`, entryLines(label, value, changed, pad));
  const values = [value, ...changed.map((variant) => variant.value)];
  if (changed.length === 0) return plainLines(label, value, pad);
  if (values.every(Array.isArray)) return [`${pad}${label}`, ...listLines(value, changed, `${pad}  `)];
  if (values.every(isMap)) return headed(label, mapLines(value, changed, `${pad}  `), pad);
  if (changed.length > 1) throw new Error(`${label} of ${changed.map(({ component }) => component).join(' and ')} differ`);
  const [other] = changed;
  return guarded(anyEnabled([other.component]), [...plainLines(label, other.value, pad), '{{- else }}', ...plainLines(label, value, pad)]);
}

/** Lines of one key or item that only components have. */
function addedLines(label, variants, pad) {
  const having = variants.filter(({ value }) => value !== undefined);
  const [{ value }] = having;
  if (having.some((other) => !isDeepStrictEqual(other.value, value))) throw new Error(`components add different values: ${label}`);
  return guarded(anyEnabled(having.map(({ component }) => component)), plainLines(label, value, pad));
}

function plainLines(label, value, pad) {
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
  const text = stringify(value, { lineWidth: 0, blockQuote: 'literal' }).trimEnd().split('\n');
  return [`${pad}${label} ${text[0]}`, ...text.slice(1).map((line) => (line === '' ? '' : `${pad}  ${line}`))];
}

function placeholderLines(label, { form, place }, pad) {
  if (form === 'text') return [`${pad}${label} ${place}`];
  if (form === 'append') return guarded(place, [`{{- toYaml ${place} | nindent ${pad.length} }}`]);
  const block = [`${pad}${label}`, `{{- toYaml ${place} | nindent ${pad.length + 2} }}`];
  return form === 'optional' ? guarded(place, block) : block;
}

/** A key above its lines; a dash in front of the first line, where that is no condition. */
function headed(label, lines, pad) {
  if (label !== '-' || lines[0].startsWith('{{')) return [`${pad}${label}`, ...lines];
  return [`${pad}- ${lines[0].trimStart()}`, ...lines.slice(1)];
}

function renderMembers(variants, member) {
  return variants.map(({ component, value }) => ({ component, value: member(value) }));
}

function identity(item) {
  return isMap(item) && 'name' in item ? `name ${item.name}` : JSON.stringify(item);
}

function isMap(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Placeholder);
}

function renderLabel(key) {
  return `${stringify(key).trim()}:`;
}
