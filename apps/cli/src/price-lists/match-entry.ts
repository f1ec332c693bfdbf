import { parse } from 'yaml';
import { isGroup, type ListEntry } from './list-entry.js';

/** A model of the catalog under the names that a list may have for it. */
export interface NamedModel {
  id: string;
  /** Names at its upstreams, in the order of its routes, with the words that name the provider there. */
  routes: { upstream: string; model: string; providers: string[] }[];
}

/** Entries of a model: one, none, or several that the list alone cannot decide between. */
export type Match = { entry: ListEntry } | { candidates: string[] };

/** Reads the routes of each model from the text of a catalog that was applied. */
export function readNamedModels(yaml: string): NamedModel[] {
  // The catalog service has bounded the aliases of the text.
  const { upstreams, models } = parse(yaml, { maxAliasCount: -1 }) as Record<string, unknown>;
  const providers = new Map(groups(upstreams).map(({ id, baseUrl }) => [String(id), providerWords(String(id), String(baseUrl))]));
  return groups(models).map(({ id, routes }) => ({
    id: String(id),
    routes: groups(routes).map((route) => ({
      upstream: String(route.upstream),
      model: String(route.model),
      providers: providers.get(String(route.upstream)) ?? [],
    })),
  }));
}

/** Returns the id of an upstream and the labels of its host: `api.groq.com` is a server of `groq`. */
function providerWords(id: string, baseUrl: string): string[] {
  return [id, ...(URL.canParse(baseUrl) ? new URL(baseUrl).hostname.split('.') : [])];
}

function groups(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isGroup) : [];
}

/** Finds the entries of models in a list. */
export class EntryIndex {
  private readonly byName: Map<string, ListEntry[]>;

  constructor(entries: readonly ListEntry[]) {
    const named = entries.flatMap((entry) => suffixes(entry.key).map((name) => ({ name, entry })));
    const byName = Map.groupBy(named, ({ name }) => name);
    this.byName = new Map([...byName].map(([name, found]) => [name, found.map(({ entry }) => entry)]));
  }

  /** Returns the entry of a key that an operator has chosen. */
  get(key: string): ListEntry | undefined {
    return this.byName.get(key)?.find((entry) => entry.key === key);
  }

  /**
   * Takes the first name that the list has: those at the upstreams, then that of the model. Of several entries it takes those of the upstream's
   * provider; of these the one that has the bare name as its key, or any if their prices are equal.
   */
  find({ id, routes }: NamedModel): Match {
    const own = { model: id, providers: routes.flatMap(({ providers }) => providers) };
    for (const { model, providers } of [...routes, own]) {
      const found = this.byName.get(model) ?? [];
      const ofProvider = found.filter(({ provider }) => providers.includes(provider));
      const candidates = ofProvider.length > 0 ? ofProvider : found;
      const [first, ...rest] = candidates;
      if (!first) continue;
      const exact = candidates.find(({ key }) => key === model);
      if (exact) return { entry: exact };
      const price = renderAmounts(first);
      return rest.every((other) => renderAmounts(other) === price) ? { entry: first } : { candidates: candidates.map(({ key }) => key) };
    }
    return { candidates: [] };
  }
}

/** `a/b/c` is also known as `b/c` and `c`. */
function suffixes(key: string): string[] {
  const parts = key.split('/');
  return parts.map((_, index) => parts.slice(index).join('/'));
}

function renderAmounts(entry: ListEntry): string {
  const amounts = entry.read().amounts.map(({ of, above, tier, picoUsd }) => `${of} ${above ?? 0} ${tier ?? ''} ${picoUsd}`);
  return amounts.sort().join('\n');
}
