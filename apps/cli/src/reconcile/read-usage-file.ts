import { parseLines } from '../month-files/csv-lines.js';
import { UsageError } from '../usage-error.js';

/** Counts of a vendor's file. */
export const COUNTS = ['requests', 'prompt', 'cached', 'written', 'output'] as const;
export type Count = (typeof COUNTS)[number];

/** Usage of one day and one name of a model as the vendor has it. Counts that the file lacks are absent. */
export interface VendorUsage {
  /** `2027-01-31`, of the vendor's calendar. */
  day: string;
  model: string;
  counts: Partial<Record<Count, number>>;
}

/** Columns by what they mean, with the names that exports of vendors give them. */
const NAMES = {
  day: ['day', 'date', 'usage_date_utc', 'usage_date', 'start_time_iso', 'start_time', 'timestamp'],
  model: ['model', 'model_version', 'model_name', 'snapshot_id'],
  requests: ['requests', 'num_model_requests', 'n_requests'],
  /** The whole prompt. */
  prompt: ['prompt_tokens', 'input_tokens', 'n_context_tokens_total'],
  /** The prompt without what a cache had or got. */
  uncached: ['uncached_tokens', 'uncached_input_tokens', 'usage_input_tokens_no_cache'],
  cached: [
    ...['cached_tokens', 'cached_input_tokens', 'input_cached_tokens', 'cache_read_tokens', 'cache_read_input_tokens'],
    ...['usage_input_tokens_cache_read', 'n_cached_context_tokens_total'],
  ],
  written: ['cache_write_tokens', 'cache_creation_input_tokens', 'cache_write_5m_tokens', 'usage_input_tokens_cache_write_5m'],
  written1h: ['cache_write_1h_tokens', 'usage_input_tokens_cache_write_1h'],
  output: ['output_tokens', 'completion_tokens', 'usage_output_tokens', 'n_generated_tokens_total'],
} satisfies Record<string, string[]>;
export type Column = keyof typeof NAMES;
export const COLUMNS = Object.keys(NAMES) as Column[];

const DAY = /^(\d{4}-\d{2}-\d{2})(?:[T ][\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/;
const SECONDS = /^\d{10}$/;

/** Reads the CSV text of a vendor, with names of columns that replace the usual ones. Rows of a day and model are added up. */
export function readUsageFile(text: string, named: Partial<Record<Column, string>> = {}): VendorUsage[] {
  const [header, ...lines] = parseLines(
    `${text
      .replace(/^\uFEFF/, '')
      .replace(/\r\n?/g, '\n')
      .trimEnd()}\n`,
  );
  const places = findColumns(
    (header ?? []).map((name) => name ?? ''),
    named,
  );
  const sums = new Map<string, VendorUsage>();
  for (const [index, line] of lines.entries()) {
    const cell = (column: Column): string | null | undefined => (places[column] === undefined ? undefined : line[places[column]]);
    const fail = (column: Column): never => {
      throw new UsageError(`line ${index + 2}: ${column} is ${JSON.stringify(cell(column) ?? '')}`);
    };
    const day = parseDay(cell('day') ?? '') ?? fail('day');
    const model = cell('model') ?? fail('model');
    const read = (column: Column): number | undefined => {
      const value = cell(column);
      if (value === undefined) return undefined;
      return /^\d{1,15}(\.0+)?$/.test(value ?? '0') ? Number(value ?? 0) : fail(column);
    };
    const sum = sums.get(`${day} ${model}`) ?? { day, model, counts: {} };
    for (const [count, number] of Object.entries(countTokens(read)) as [Count, number | undefined][]) {
      if (number !== undefined) sum.counts[count] = (sum.counts[count] ?? 0) + number;
    }
    sums.set(`${day} ${model}`, sum);
  }
  return [...sums.values()];
}

function countTokens(read: (column: Column) => number | undefined): Record<Count, number | undefined> {
  const [uncached, cached, written5m, written1h] = (['uncached', 'cached', 'written', 'written1h'] as const).map(read);
  const written = written5m === undefined && written1h === undefined ? undefined : (written5m ?? 0) + (written1h ?? 0);
  const prompt = uncached === undefined ? read('prompt') : uncached + (cached ?? 0) + (written ?? 0);
  return { requests: read('requests'), prompt, cached, written, output: read('output') };
}

function findColumns(header: readonly string[], named: Partial<Record<Column, string>>): Partial<Record<Column, number>> {
  const lower = header.map((name) => name.trim().toLowerCase());
  const place = (column: Column): number | undefined => {
    const own = named[column];
    if (own === undefined) return NAMES[column].map((name) => lower.indexOf(name)).find((at) => at >= 0);
    const at = header.findIndex((name) => name.trim() === own);
    if (at < 0) throw new UsageError(`the file has no column ${own}`);
    return at;
  };
  const places = Object.fromEntries(COLUMNS.map((column) => [column, place(column)]).filter(([, at]) => at !== undefined));
  for (const column of ['day', 'model'] as const) {
    if (places[column] === undefined) throw new UsageError(`no column is known to be the ${column}: name it with --columns "${column}=…"`);
  }
  if (Object.keys(places).length === 2)
    throw new UsageError('no column is known to be a count of requests or tokens: name it with --columns');
  return places;
}

/** Returns the day in UTC of a time with a zone, and the day of any other as it is. */
function parseDay(value: string): string | undefined {
  const [, day, zone] = DAY.exec(value) ?? [];
  const at = SECONDS.test(value) ? Number(value) * 1_000 : Date.parse(zone === undefined ? (day ?? '') : value);
  return Number.isNaN(at) ? undefined : new Date(at).toISOString().slice(0, 10);
}
