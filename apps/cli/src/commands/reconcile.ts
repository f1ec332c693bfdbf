import { type UsageRow, usageQuery } from '#contracts/billing/usage.js';
import { catalogGet } from '#contracts/catalog-revisions.js';
import type { Messaging } from '#messaging/messaging.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { argument, optional, pairs, percent, required, text } from '../parameters.js';
import { readNamedModels } from '../price-lists/match-entry.js';
import { readTextFile } from '../read-file.js';
import { compareUsage, nameModels, type UsageComparison, type UsageDifference } from '../reconcile/compare-usage.js';
import { COLUMNS, type Column, readUsageFile } from '../reconcile/read-usage-file.js';
import { renderTable } from '../render.js';
import { UsageError } from '../usage-error.js';

const FILE_LENGTH_MAX = 64_000_000;
const DAY_MS = 86_400_000;
const USAGE_MS = 30_000;
const TOLERANCE_PERCENT = 1;

const PARAMETERS = {
  file: argument(text(500, 'file'), 'CSV with a row for each day and model'),
  upstream: required(text(64, 'id'), 'upstream whose vendor wrote the file'),
  columns: optional(pairs('columns'), `names of its columns, such as "day=Date; prompt=Tokens in"; known are ${COLUMNS.join(', ')}`),
  models: optional(pairs('models'), 'other names that the file has for models of the upstream, such as "gpt-x-2027-01-31=gpt-x"'),
  tolerance: optional(percent, `difference in percent that is not listed; default ${TOLERANCE_PERCENT}`),
} satisfies Parameters;

export const reconcileCommands: readonly CliCommand[] = [
  {
    name: 'reconcile',
    summary: "Compare a vendor's usage with the journal, by day and model; exit code 1 when they differ",
    parameters: PARAMETERS,
    examples: [
      'reconcile usage.csv --upstream openai',
      'reconcile usage.csv --upstream hosted --columns "day=Date; model=Model; prompt=Tokens in; output=Tokens out" --tolerance 0.1',
    ],
    async run(values, json, connect) {
      const { file, upstream, columns = {}, models = {}, tolerance = TOLERANCE_PERCENT } = values as Values<typeof PARAMETERS>;
      const unknown = Object.keys(columns).find((column) => !COLUMNS.some((known) => known === column));
      if (unknown !== undefined) throw new UsageError(`--columns: ${unknown} is none of ${COLUMNS.join(', ')}`);
      const rows = readUsageFile(await readTextFile(file, FILE_LENGTH_MAX), columns as Partial<Record<Column, string>>);
      const vendor = rows.map((row) => ({ ...row, model: models[row.model] ?? row.model }));
      const days = vendor.map(({ day }) => day).sort();
      const [first, last] = [days[0], days.at(-1)];
      if (first === undefined || last === undefined) throw new UsageError(`${file} has no rows`);
      const messaging = await connect();
      const { yaml } = await messaging.request(catalogGet, {});
      const routes = (yaml === null ? [] : readNamedModels(yaml)).flatMap((model) =>
        model.routes.filter((route) => route.upstream === upstream).map((route) => ({ id: model.id, name: route.model })),
      );
      const to = new Date(Date.parse(last) + DAY_MS).toISOString();
      const compared = compareUsage(await readJournal(messaging, upstream, first, to), vendor, nameModels(routes), tolerance);
      const report = { upstream, from: first, to: last, ...compared };
      return { text: json ? JSON.stringify(report, null, 2) : renderReport(report), failed: compared.differences.length > 0 };
    },
  },
];

async function readJournal(messaging: Messaging, upstream: string, from: string, to: string): Promise<UsageRow[]> {
  const rows: UsageRow[] = [];
  let cursor: string | undefined;
  do {
    const request = { from, to, step: 'day' as const, groupBy: ['model' as const], upstream, limit: 1_000, cursor };
    const page = await messaging.request(usageQuery, request, { timeoutMs: USAGE_MS });
    rows.push(...page.rows);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

function renderReport({
  upstream,
  from,
  to,
  differences,
  totals,
  estimatedRequests,
}: UsageComparison & Record<'upstream' | 'from' | 'to', string>): string {
  const columns = {
    MODEL: ({ model }: UsageDifference) => model,
    COUNT: ({ count }: UsageDifference) => count,
    JOURNAL: ({ journal }: UsageDifference) => journal,
    VENDOR: ({ vendor }: UsageDifference) => vendor,
    DIFFERENCE: ({ journal, vendor, percent }: UsageDifference) =>
      `${vendor > journal ? '+' : ''}${vendor - journal}${percent === null ? '' : ` (${vendor > journal ? '+' : ''}${percent.toFixed(2)} %)`}`,
  };
  const days = renderTable(differences, '', { DAY: ({ day }) => day, ...columns });
  return [
    `${upstream}, ${from} to ${to}`,
    ...(estimatedRequests > 0
      ? [`${estimatedRequests} requests of the journal are estimated: the upstream did not report their usage in full`]
      : []),
    '',
    renderTable(totals, 'neither has usage', columns),
    '',
    differences.length === 0 ? 'each day is equal within the tolerance' : `days that differ:\n${days}`,
  ].join('\n');
}
