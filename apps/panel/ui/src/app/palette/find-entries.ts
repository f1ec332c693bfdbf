import { findRequestName, parseRequestName } from '#contracts/rules/request-id.js';
import type { IconName } from '../../parts/icon.js';

/** Kinds of what can be found, in the order of the list. */
const KINDS = ['Request', 'Pages', 'Projects', 'Keys', 'Accounts', 'Models', 'Members'] as const;
export type Kind = (typeof KINDS)[number];

/** Something that the search finds. */
export interface Entry {
  kind: Kind;
  /** Distinguishes entries with the same name. */
  id: string;
  name: string;
  /** Fainter beside the name; it is searched too. */
  hint?: string | undefined;
  /** Searched and not shown. */
  words?: readonly (string | null | undefined)[];
  icon: IconName;
  href: string;
}

export interface EntryGroup {
  kind: Kind;
  entries: Entry[];
}

/** Entries of one kind that the list shows: typing more shows others. */
const SHOWN_MAX = 6;

/** Returns what fits a text, the best of each kind first. Without a text: the pages. An id of a request comes first. */
export function findEntries(text: string, entries: readonly Entry[]): EntryGroup[] {
  const query = text.trim().toLowerCase();
  if (query === '')
    return groupEntries(
      entries.filter(({ kind }) => kind === 'Pages'),
      Infinity,
    );
  const ranked = entries
    .flatMap((entry) => {
      const rank = rankEntry(entry, query);
      return rank === undefined ? [] : [{ entry, rank }];
    })
    .toSorted((one, other) => one.rank - other.rank || one.entry.name.localeCompare(other.entry.name));
  return groupEntries([...requestEntry(text), ...ranked.map(({ entry }) => entry)], SHOWN_MAX);
}

function groupEntries(entries: readonly Entry[], max: number): EntryGroup[] {
  return KINDS.map((kind) => ({ kind, entries: entries.filter((entry) => entry.kind === kind).slice(0, max) })).filter(
    (group) => group.entries.length > 0,
  );
}

/** 0: the name begins with the text; 1: a word of it does; 2: it has the text; 3: all words are somewhere. Undefined: it does not fit. */
function rankEntry({ name, hint, words = [] }: Entry, query: string): number | undefined {
  const lower = name.toLowerCase();
  if (lower.startsWith(query)) return 0;
  if (lower.split(/[\s/_.-]+/).some((word) => word.startsWith(query))) return 1;
  if (lower.includes(query)) return 2;
  const everything = [name, hint, ...words].join('\n').toLowerCase();
  return query.split(/\s+/).every((word) => everything.includes(word)) ? 3 : undefined;
}

/** The request of an id. What is pasted may be a whole line of a log. */
function requestEntry(text: string): Entry[] {
  const found = parseRequestName(findRequestName(text) ?? '');
  if (!found) return [];
  const id = found.uuid ?? found.requestId;
  return [{ kind: 'Request', id, name: found.requestId, hint: 'opens its page', icon: 'requests', href: `/requests/${id}` }];
}
