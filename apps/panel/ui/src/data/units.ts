import type { ModelListReply } from '../../../src/shapes/catalog.js';
import { count } from '../format/numbers.js';
import { useApi } from './api.js';

/** Returns the function that names the unit of an item of a service, such as `page` of `crawler/page`. Undefined: the catalog has no such item. */
export function useUnits(): (item: string) => string | undefined {
  const { data } = useApi<ModelListReply>('/models');
  const units = new Map(data?.services?.flatMap(({ items }) => items.map(({ id, unit }) => [id, unit] as const)));
  return (item) => units.get(item);
}

/** `7 × page`, or the count alone where the unit is not known. */
export function renderUnits(quantity: number, unit: string | undefined): string {
  return unit === undefined ? count(quantity) : `${count(quantity)} × ${unit}`;
}
