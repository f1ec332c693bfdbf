import { stringify } from 'yaml';
import { modelList } from '#contracts/catalog.js';
import { catalogGet } from '#contracts/catalog-revisions.js';
import type { ListPrices } from '#money/list-prices.js';
import type { Price } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { argument, listKind, optional, pairs, text } from '../parameters.js';
import { type Comparison, comparePrices, type FieldChange } from '../price-lists/compare-prices.js';
import { EntryIndex, type Match, type NamedModel, readNamedModels } from '../price-lists/match-entry.js';
import { type PriceList, readPriceList } from '../price-lists/read-price-list.js';
import { readTextFile } from '../read-file.js';
import { renderTable, withoutControls } from '../render.js';
import { UsageError } from '../usage-error.js';

/** Several times what the lists have. */
const LIST_LENGTH_MAX = 64_000_000;

const PARAMETERS = {
  file: argument(text(500, 'file'), 'model_prices_and_context_window.json of LiteLLM, or api.json of models.dev'),
  models: optional(listKind(text(256, 'ids')), 'only these models, separated by commas; default all'),
  entries: optional(pairs('entries'), 'entries of the list for models, such as "qwen3-8b=groq/qwen/qwen3-8b"'),
  tiers: optional(listKind(text(32, 'tiers')), 'tiers of the list to add to the prices, such as priority,flex'),
} satisfies Parameters;

/** Reads the catalog from the service, and the list from a file: nothing is fetched, and nothing is changed. */
export const catalogPriceCommands: readonly CliCommand[] = [
  {
    name: 'catalog prices',
    summary: 'Compare the prices with a public list; exit code 1 when one differs or has no certain entry. Changes nothing',
    parameters: PARAMETERS,
    examples: [
      'catalog prices model_prices_and_context_window.json',
      'catalog prices api.json --models qwen3-8b --entries "qwen3-8b=groq/qwen/qwen3-8b"',
    ],
    async run(values, json, connect) {
      const { file, models, entries = {}, tiers = [] } = values as Values<typeof PARAMETERS>;
      const list = readPriceList(await readTextFile(file, LIST_LENGTH_MAX));
      if (!list) throw new UsageError(`${file} is neither LiteLLM's nor models.dev's list of prices`);
      const messaging = await connect();
      const [{ models: present }, { yaml }] = [await messaging.request(modelList, {}), await messaging.request(catalogGet, {})];
      const prices = new Map(present.map(({ id, price }) => [id, parsePrice(price)]));
      for (const id of [...(models ?? []), ...Object.keys(entries)]) {
        if (!prices.has(id)) throw new UsageError(`the catalog has no model ${id}`);
      }
      const named = new Map(yaml === null ? [] : readNamedModels(yaml).map((model) => [model.id, model]));
      const asked = (models ?? [...prices.keys()]).map((id) => named.get(id) ?? { id, routes: [] });
      const compared = compareAll(list, asked, prices, entries, tiers);
      const isUncertain = ({ entry, candidates }: ComparedModel): boolean =>
        entry === null && (models !== undefined || candidates.length > 0);
      return {
        text: json ? JSON.stringify({ list: list.name, models: compared }, null, 2) : renderAll(list, compared),
        failed: compared.some((model) => model.changes.length > 0 || isUncertain(model)),
      };
    },
  },
];

interface ComparedModel extends Omit<Comparison, 'price'> {
  model: string;
  /** Key of its entry in the list. Null: there is none, or several. */
  entry: string | null;
  /** Entries that it may be. */
  candidates: string[];
  /** Fields about costs of the entry that no price of the catalog can express. */
  notExpressed: string[];
  /** The price with the amounts of the list. Null: without an entry. */
  price: ListPrices | null;
}

function compareAll(
  { entries }: PriceList,
  models: readonly NamedModel[],
  prices: ReadonlyMap<string, Price>,
  chosen: Record<string, string>,
  tiers: readonly string[],
): ComparedModel[] {
  const index = new EntryIndex(entries);
  return models.map((model): ComparedModel => {
    const match = findEntry(index, model, chosen[model.id]);
    const present = prices.get(model.id);
    const none = { model: model.id, entry: null, candidates: [], changes: [], kept: [], otherTiers: [], notExpressed: [], price: null };
    if (!('entry' in match) || !present) return { ...none, ...('candidates' in match && match) };
    const { amounts, others } = match.entry.read();
    return { ...none, entry: match.entry.key, ...comparePrices(present, amounts, tiers), notExpressed: others };
  });
}

function findEntry(index: EntryIndex, model: NamedModel, key: string | undefined): Match {
  if (key === undefined) return index.find(model);
  const entry = index.get(key);
  if (!entry) throw new UsageError(`the list has no entry ${key}`);
  return { entry };
}

function renderAll({ name, entries }: PriceList, models: readonly ComparedModel[]): string {
  const differing = models.filter(({ changes }) => changes.length > 0);
  const paste = { models: differing.map(({ model, price }) => ({ id: model, price })) };
  return [
    `${name}, ${entries.length} entries; USD per million tokens, or per request`,
    ...models.flatMap(renderModel),
    ...(differing.length === 0 ? [] : ['', '# Prices for the catalog file:', stringify(paste, { lineWidth: 0 }).trimEnd()]),
  ].join('\n');
}

function renderModel({ model, entry, candidates, changes, kept, otherTiers, notExpressed }: ComparedModel): string[] {
  if (entry === null && candidates.length === 0) return ['', `${model}: not in the list`];
  if (entry === null) {
    return [
      '',
      `${model}: entries with different prices, choose with --entries "${model}=…"`,
      ...candidates.map((key) => `  ${withoutControls(key)}`),
    ];
  }
  const table = renderTable(changes, '  no difference', {
    '  FIELD': ({ field }: FieldChange) => `  ${field}`,
    NOW: ({ now }) => now,
    LIST: ({ list }) => list,
  });
  return [
    '',
    `${model}: ${withoutControls(entry)}`,
    table,
    ...(kept.length > 0 ? [`  the list does not name: ${kept.join(', ')}`] : []),
    ...(otherTiers.length > 0 ? [`  tiers of the list that --tiers would add: ${otherTiers.join(', ')}`] : []),
    ...notExpressed.map((other) => `  not in a price: ${withoutControls(other)}`),
  ];
}
