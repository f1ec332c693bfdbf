import type { AuditEntry } from '../../../../src/shapes/audit.js';
import { exactUsd } from '../../format/numbers.js';

export interface FieldChange {
  field: string;
  /** Undefined: the field was not there. */
  before: unknown;
  after: unknown;
}

/** The fields that differ between before and after, those of after first. */
export function listChanges({ before, after }: Pick<AuditEntry, 'before' | 'after'>): FieldChange[] {
  const fields = [...new Set([...Object.keys(after ?? {}), ...Object.keys(before ?? {})])];
  return fields
    .map((field) => ({ field, before: before?.[field], after: after?.[field] }))
    .map(inUsd)
    .filter((change) => formatValue(change.before) !== formatValue(change.after));
}

/** Shows an amount in pico-USD as people write it: `limitPicoUsd: 100000000` becomes `limit: $0.0001`. */
function inUsd({ field, before, after }: FieldChange): FieldChange {
  const name = field.replace(/PicoUsd$/, '');
  if (name === field) return { field, before, after };
  const usd = (pico: unknown): unknown => (typeof pico === 'string' && /^-?\d+$/.test(pico) ? exactUsd(BigInt(pico)) : pico);
  return { field: name, before: usd(before), after: usd(after) };
}

/** A value in one line: text as it is, nothing as a dash. */
export function formatValue(value: unknown): string {
  if (value === undefined || value === null) return '–';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
