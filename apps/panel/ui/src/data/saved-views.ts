import { type Filters, readFilters, writeFilters } from './filters.js';

/** A list with its filters, by name. */
export interface SavedView {
  name: string;
  /** Query of the page's address, in the form of `writeFilters`. */
  query: string;
}

/** Longer names would not fit the choice. */
export const VIEW_NAME_MAX = 60;
/** More than a person finds in a choice. The oldest gives way. */
export const VIEWS_MAX = 50;

/** Reads what the browser has stored. Views that an older version stored are brought into the form of today; what is unreadable is left out. */
export function parseViews(stored: string | null): SavedView[] {
  try {
    const views: unknown = JSON.parse(stored ?? '[]');
    return Array.isArray(views) ? views.filter(isView).map(({ name, query }) => ({ name, query: writeFilters(readFilters(query)) })) : [];
  } catch {
    return [];
  }
}

/** Adds a view, or replaces the one of its name. */
export function addView(views: readonly SavedView[], name: string, filters: Filters): SavedView[] {
  const view = { name: name.trim().slice(0, VIEW_NAME_MAX), query: writeFilters(filters) };
  return [...removeView(views, view.name), view].slice(-VIEWS_MAX);
}

export function removeView(views: readonly SavedView[], name: string): SavedView[] {
  return views.filter((view) => view.name !== name);
}

/** The view that the filters are. */
export function findView(views: readonly SavedView[], filters: Filters): SavedView | undefined {
  const query = writeFilters(filters);
  return views.find((view) => view.query === query);
}

function isView(value: unknown): value is SavedView {
  const { name, query } = (value ?? {}) as Partial<Record<keyof SavedView, unknown>>;
  return typeof name === 'string' && name !== '' && typeof query === 'string';
}
