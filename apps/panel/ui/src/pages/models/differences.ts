import { describeOtherPrices } from '#money/describe-rules.js';
import type { CatalogChanges, CatalogDifferences, EntryDifferences, PriceChange } from '../../../../src/shapes/catalog.js';
import { exactUsd, plural, usdPerMillion } from '../../format/numbers.js';

/** One line of the difference between a text and the catalog. */
export interface DifferenceRow {
  what: 'disabled' | 'added' | 'price' | 'changed';
  noun: 'model' | 'price plan' | 'upstream';
  id: string;
  /** Empty for an entry that comes or goes. */
  field: string;
  before: unknown;
  /** The price of a new model stands here. */
  after: unknown;
}

/** The difference line by line: models before price plans and upstreams, and first what goes. */
export function differenceRows({ models, upstreams, repriced, firstPrices = [], pricePlans }: CatalogDifferences): DifferenceRow[] {
  const first = new Map(firstPrices.map(({ model, price }) => [model, priceText(price)]));
  const prices = repriced.map(({ model, before, after }) => ({
    ...{ what: 'price' as const, noun: 'model' as const, id: model, field: 'price' },
    before: priceText(before),
    after: priceText(after),
  }));
  const plans = pricePlans ? entryRows(pricePlans, 'price plan', []) : [];
  const ofModels = entryRows(models, 'model', prices).map((row) =>
    row.what === 'added' ? { ...row, after: first.get(row.id) ?? null } : row,
  );
  return [...ofModels, ...plans, ...entryRows(upstreams, 'upstream', [])];
}

function entryRows({ disabled, added, changed }: EntryDifferences, noun: DifferenceRow['noun'], prices: DifferenceRow[]): DifferenceRow[] {
  const whole = (what: 'disabled' | 'added', ids: string[]) => ids.map((id) => ({ what, noun, id, field: '', before: null, after: null }));
  const fields = changed.flatMap(({ id, fields: differing }) =>
    differing.map((field) => ({ what: 'changed' as const, noun, id, ...field })),
  );
  return [...whole('disabled', disabled), ...whole('added', added), ...prices, ...fields];
}

/** Input, cached and output price, and the others: `$0.15 / $0.015 / $0.60 / $0.01 a request`. */
export function priceText(price: Omit<PriceChange['before'], 'version'>): string {
  const ofTokens = [price.inputPicoUsd, price.cachedInputPicoUsd, price.outputPicoUsd].map((each) => usdPerMillion(BigInt(each)));
  return [...ofTokens, ...otherPrices(price)].join(' / ');
}

/** The prices that only some models have, those of tokens for a million: `$3.75 cache write`, `$0.01 a request`. */
export function otherPrices(price: Partial<PriceChange['before']>): string[] {
  return describeOtherPrices(price, { perMillion: usdPerMillion, each: exactUsd });
}

/** The kinds of changes in one line: `1 model disabled, 2 models repriced`. */
export function changesText({ models, upstreams, repriced, pricePlans }: CatalogChanges | CatalogDifferences): string {
  const counted = (entries: (CatalogChanges | CatalogDifferences)['models'], noun: string) =>
    (['disabled', 'added', 'changed'] as const).flatMap((what) =>
      entries[what].length > 0 ? [`${plural(entries[what].length, noun)} ${what}`] : [],
    );
  const prices = repriced.length > 0 ? [`${plural(repriced.length, 'model')} repriced`] : [];
  const plans = pricePlans ? counted(pricePlans, 'price plan') : [];
  return [...counted(models, 'model'), ...prices, ...plans, ...counted(upstreams, 'upstream')].join(', ') || 'Only the order';
}
