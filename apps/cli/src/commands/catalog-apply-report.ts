import type { CatalogApplyReply, CatalogChanges, EntryChanges, PriceChange } from '#contracts/catalog.js';
import { renderPrices } from '../render.js';

/** Names listed of each kind; the rest is counted. The service's log and `--json` list all. */
const NAMED_MAX = 20;

/** Renders the changes of an apply, removals first. */
export function renderApplied({ revision, changed, models, upstreams, changes }: CatalogApplyReply): string {
  const sum = `revision ${revision}, ${count(models, 'model')}, ${count(upstreams, 'upstream')}`;
  if (!changed) return `nothing to change: ${sum}`;
  return [`applied: ${sum}`, ...(changes ? renderChanges(changes) : [])].join('\n');
}

/** Renders the kinds of changes in one line: `2 models changed, 1 repriced`. */
export function summarize({ models, upstreams, repriced, pricePlans }: CatalogChanges): string {
  const counted = (entries: EntryChanges, noun: string): string[] =>
    (['disabled', 'added', 'changed'] as const).flatMap((what) =>
      entries[what].length > 0 ? [`${count(entries[what].length, noun)} ${what}`] : [],
    );
  const prices = repriced.length > 0 ? [`${count(repriced.length, 'model')} repriced`] : [];
  const plans = pricePlans ? counted(pricePlans, 'price plan') : [];
  return [...counted(models, 'model'), ...prices, ...plans, ...counted(upstreams, 'upstream')].join(', ') || 'only the order';
}

function renderChanges({ models, upstreams, repriced, pricePlans }: CatalogChanges): string[] {
  const plans = pricePlans ? renderEntries(pricePlans, 'price plan') : [];
  const lines = [...renderEntries(models, 'model'), ...renderPriceChanges(repriced), ...plans, ...renderEntries(upstreams, 'upstream')];
  return lines.length > 0 ? lines.map((line) => `  ${line}`) : ['  only the order changed'];
}

function renderEntries({ added, changed, disabled }: EntryChanges, noun: string): string[] {
  const fields = changed.map((entry) => `${entry.id} (${entry.fields.join(', ')})`);
  return [...listed('disabled', disabled, noun), ...listed('added', added, noun), ...listed('changed', fields, noun)];
}

export function listed(what: string, names: readonly string[], noun: string): string[] {
  if (names.length === 0) return [];
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
  return [`${what} ${count(names.length, noun)}: ${names.slice(0, NAMED_MAX).join(', ')}${more}`];
}

export function renderPriceChanges(repriced: readonly PriceChange[]): string[] {
  if (repriced.length === 0) return [];
  const lines = repriced
    .slice(0, NAMED_MAX)
    .map(({ model, before, after }) => `  ${model}: ${renderPrices(before)} -> ${renderPrices(after)}`);
  if (repriced.length > NAMED_MAX) lines.push(`  and ${repriced.length - NAMED_MAX} more`);
  return [`repriced ${count(repriced.length, 'model')}, input / cached input / output per million tokens:`, ...lines];
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
