import type { CatalogDifferences, CatalogPlanReply, EntryDifferences } from '#contracts/catalog-revisions.js';
import { listed, renderPriceChanges } from './catalog-apply-report.js';

/** Characters of a value. `--json` has the whole. */
const VALUE_MAX = 120;

/** Renders the faults of a plan, or what it would change, removals first. */
export function renderPlan({ revision, faults, changes }: CatalogPlanReply): string {
  if (faults.length > 0) return faults.map(({ line, field, problem }) => `line ${line}: ${field && `${field}: `}${problem}`).join('\n');
  if (!changes) return `nothing to change: revision ${revision} is equal`;
  return [`would change revision ${revision}:`, ...renderDifferences(changes).map((line) => `  ${line}`)].join('\n');
}

function renderDifferences({ models, upstreams, repriced, pricePlans }: CatalogDifferences): string[] {
  const plans = pricePlans ? renderEntries(pricePlans, 'price plan') : [];
  const lines = [...renderEntries(models, 'model'), ...renderPriceChanges(repriced), ...plans, ...renderEntries(upstreams, 'upstream')];
  return lines.length > 0 ? lines : ['only the order'];
}

function renderEntries({ added, changed, disabled }: EntryDifferences, noun: string): string[] {
  const fields = changed.flatMap(({ id, fields }) => [
    `change ${noun} ${id}`,
    ...fields.map(({ field, before, after }) => `  ${field}: ${renderValue(before)} -> ${renderValue(after)}`),
  ]);
  return [...listed('disable', disabled, noun), ...listed('add', added, noun), ...fields];
}

function renderValue(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > VALUE_MAX ? `${text.slice(0, VALUE_MAX)}…` : text;
}
