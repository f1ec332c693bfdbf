import { SchemaComparison } from './compare-schemas.ts';
import type { Area, Interfaces, Metric } from './read-interfaces.ts';

/**
 * Returns the breaking differences between the interfaces of a release and those of now, each as one line: `panel GET /panel/v1/me: removed`.
 * A line of a schema that has a name begins with that, because many operations may use it.
 */
export function compareInterfaces(before: Interfaces, after: Interfaces): string[] {
  const lines = Object.entries(before.areas).flatMap(([name, area]) => {
    const now = after.areas[name] ?? { operations: {}, schemas: {} };
    return compareArea(area, now).map((line) => `${name} ${line}`);
  });
  return [
    ...new Set([...lines, ...compareMetrics(before.metrics, after.metrics), ...compareSettings(before.settings, after.settings)]),
  ].sort();
}

function compareArea(before: Area, after: Area): string[] {
  const comparison = new SchemaComparison({ before: before.schemas, after: after.schemas });
  return Object.entries(before.operations).flatMap(([name, operation]) => {
    const now = after.operations[name];
    if (!now) return [`${name}: removed`];
    return (['reads', 'writes'] as const)
      .flatMap((direction) =>
        Object.entries(operation[direction]).flatMap(([part, schema]) => {
          const other = now[direction][part];
          const place = `${name} ${part}`;
          if (other) return comparison.compare(place, schema, other, direction).map((line) => `${direction} ${line}`);
          return isPromised(part) ? [`${place}: removed`] : [];
        }),
      )
      .concat(...newlyRequired(name, operation.reads, now.reads));
  });
}

/** An error that no longer happens breaks nobody. */
function isPromised(part: string): boolean {
  return !/^[345]/.test(part);
}

/** Parameters of an operation that had none. */
function newlyRequired(name: string, before: Area['operations'][string]['reads'], after: Area['operations'][string]['reads']): string[] {
  if (before.parameters) return [];
  return (after.parameters?.required ?? []).map((parameter) => `reads ${name} parameters.${parameter}: now required`);
}

function compareMetrics(before: Record<string, Metric>, after: Record<string, Metric>): string[] {
  return Object.entries(before).flatMap(([name, { type, labels }]) => {
    const now = after[name];
    if (!now) return [`metric ${name}: removed`];
    const changed = now.type === type ? [] : [`metric ${name}: ${type} became ${now.type}`];
    const removed = labels.filter((label) => !now.labels.includes(label));
    return [...changed, ...removed.map((label) => `metric ${name}: label ${label} removed`)];
  });
}

function compareSettings(before: Record<string, string>, after: Record<string, string>): string[] {
  const changed = Object.entries(before).flatMap(([name, initial]) => {
    const now = after[name];
    if (now === undefined) return [`setting ${name}: removed`];
    return now === initial ? [] : [`setting ${name}: default ${initial} became ${now}`];
  });
  const findService = (name: string): string => name.slice(name.indexOf(' of '));
  const services = new Set(Object.keys(before).map(findService)); // nobody runs a service that is new
  const required = Object.keys(after).filter((name) => !(name in before) && after[name] === 'required' && services.has(findService(name)));
  return [...changed, ...required.map((name) => `setting ${name}: now required`)];
}
