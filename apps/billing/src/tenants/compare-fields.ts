import { isDeepStrictEqual } from 'node:util';
import type { TenantChange } from '#contracts/billing/tenants.js';
import { parsePicoUsd, parseUsd, renderUsd } from '#money/pico-usd.js';

/**
 * The fields of a resource in one comparable form. `stored…` returns those of what there is, `wanted…` those that the file says, where an
 * absent field is undefined. Lists without an order are sorted.
 */
export type Fields = Record<string, unknown>;

/** Returns the wanted fields that differ. */
export function compareFields(stored: Fields, wanted: Fields): TenantChange['fields'] {
  return Object.entries(wanted).flatMap(([field, after]) =>
    after === undefined || isDeepStrictEqual(stored[field], after) ? [] : [{ field, before: stored[field] ?? null, after }],
  );
}

/** Returns the wanted fields of something new. */
export function newFields(wanted: Fields): TenantChange['fields'] {
  const isGiven = ([field, value]: [string, unknown]) => field !== 'name' && value !== undefined && value !== null;
  return Object.entries(wanted)
    .filter(isGiven)
    .map(([field, after]) => ({ field, before: null, after }));
}

/** Returns the fields of something that is removed. */
export function removedFields(stored: Fields): TenantChange['fields'] {
  return Object.entries(stored).map(([field, before]) => ({ field, before, after: null }));
}

/** Returns the entry of the file without the fields that do not differ. */
export function pickChanged<Wanted extends object>(wanted: Wanted, changed: TenantChange['fields']): Partial<Wanted> {
  const names = new Set(changed.map(({ field }) => field));
  return Object.fromEntries(Object.entries(wanted).filter(([name, value]) => names.has(name) && value !== undefined)) as Partial<Wanted>;
}

type Defined<Value> = { [Name in keyof Value]?: Exclude<Value[Name], undefined> };

export function withoutAbsent<Value extends object>(fields: Value): Defined<Value> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<Value>;
}

/** Returns the fields that are neither absent nor null: nothing that is new has a field to clear. */
export function withoutNull<Value extends object>(fields: Value): { [Name in keyof Value]?: NonNullable<Value[Name]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null)) as never;
}

/** Leaves out of an export what is not set: no limit, no list, no money, no mark. */
export function withoutEmpty(fields: Fields): Record<string, never> {
  const isEmpty = (value: unknown): boolean =>
    value === null || value === false || value === '0.00' || (Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isEmpty(value))) as Record<string, never>;
}

export function sortTexts(texts: readonly string[]): string[] {
  return [...texts].sort();
}

/** Returns an amount of the database as the text of dollars that a file has. */
export function renderPico(amount: string | null | undefined): string {
  return renderUsd(amount == null ? 0n : parsePicoUsd(amount));
}

/** Returns an amount of a file in the form of `renderPico`. */
export function normalizeUsd<Usd extends string | undefined>(usd: Usd): Usd {
  return (usd === undefined ? undefined : renderUsd(parseUsd(usd))) as Usd;
}
