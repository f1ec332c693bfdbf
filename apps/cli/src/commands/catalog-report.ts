import type { RatedUsage, UsageRerateReply } from '#contracts/billing/rerate.js';
import type { CatalogApplyReply, CatalogChanges, EntryChanges, PriceChange } from '#contracts/catalog.js';
import type { CatalogDifferences, CatalogPlanReply, EntryDifferences } from '#contracts/catalog-revisions.js';
import { renderDollars, renderPrices, renderTable } from '../render.js';

/** Names listed of each kind; the rest is counted. The service's log and `--json` list all. */
const NAMED_MAX = 20;

/** Characters of a value. `--json` has the whole. */
const VALUE_MAX = 120;

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

function listed(what: string, names: readonly string[], noun: string): string[] {
  if (names.length === 0) return [];
  const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : '';
  return [`${what} ${count(names.length, noun)}: ${names.slice(0, NAMED_MAX).join(', ')}${more}`];
}

function renderPriceChanges(repriced: readonly PriceChange[]): string[] {
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

/** Renders the faults of a plan, or what it would change, removals first. */
export function renderPlan({ revision, faults, changes }: CatalogPlanReply): string {
  if (faults.length > 0) return faults.map(({ line, field, problem }) => `line ${line}: ${field && `${field}: `}${problem}`).join('\n');
  if (!changes) return `nothing to change: revision ${revision} is equal`;
  return [`would change revision ${revision}:`, ...renderDifferences(changes).map((line) => `  ${line}`)].join('\n');
}

function renderDifferences({ models, upstreams, repriced, pricePlans }: CatalogDifferences): string[] {
  const plans = pricePlans ? renderEntryDifferences(pricePlans, 'price plan') : [];
  const lines = [
    ...renderEntryDifferences(models, 'model'),
    ...renderPriceChanges(repriced),
    ...plans,
    ...renderEntryDifferences(upstreams, 'upstream'),
  ];
  return lines.length > 0 ? lines : ['only the order'];
}

function renderEntryDifferences({ added, changed, disabled }: EntryDifferences, noun: string): string[] {
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

/** The costs of a month at new prices, or the reason why they are not known. */
export type RatedChange = { month: string } & ({ rated: UsageRerateReply } | { notRated: string });

/** Renders what a month would have cost each account, those with the largest change first. */
export function renderRated(change: RatedChange): string[] {
  const { month } = change;
  if ('notRated' in change) return ['', `the usage of ${month} was not priced: ${change.notRated}`];
  const { accounts, accountCount, total, imagesUnknown } = change.rated;
  const all = { name: `all ${accountCount}`, accountId: null, ...total };
  const difference = ({ beforePicoUsd, afterPicoUsd }: RatedUsage): string =>
    renderDollars(String(BigInt(afterPicoUsd) - BigInt(beforePicoUsd)));
  const table = renderTable([...accounts.slice(0, NAMED_MAX), all], '', {
    ACCOUNT: ({ name }) => name,
    ID: ({ accountId }) => accountId,
    REQUESTS: ({ requests }) => requests,
    CHARGED: ({ chargedPicoUsd }) => renderDollars(chargedPicoUsd),
    'NOW WOULD COST': ({ beforePicoUsd }) => renderDollars(beforePicoUsd),
    'THEN WOULD COST': ({ afterPicoUsd }) => renderDollars(afterPicoUsd),
    CHANGE: difference,
  });
  return [
    '',
    `the models whose prices may change, in ${month}:`,
    ...(accountCount === 0 ? ['no usage'] : [table]),
    ...(imagesUnknown === 0 ? [] : [`${count(imagesUnknown, 'request')} without images: the journal does not have their number`]),
  ];
}
