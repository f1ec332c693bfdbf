import { type ClosedMonth, monthAttach, monthClose, monthDetach, monthList } from '#contracts/billing/months.js';
import { ServiceError } from '#contracts/service-error.js';
import { type CliCommand, command } from '../command.js';
import { argument, month, required, text } from '../parameters.js';
import { renderFields, renderTable } from '../render.js';

/** Closing, detaching and attaching read each row of the month. */
const MONTH_MS = 3_600_000;

const countRows = ({ files }: ClosedMonth, name: string): number => files.find(({ file }) => file === name)?.rows ?? 0;

const exportCommand: CliCommand = {
  name: 'month export',
  summary: 'Write a closed month as CSV and Parquet files, and check them against its digest; exit code 1 if they differ',
  parameters: {
    month: argument(month, 'closed month'),
    out: required(text(4_096, 'folder'), 'folder in which the folder of the month is made'),
  },
  examples: ['month export 2027-01 --out exports'],
  async run({ month, out }, json, connect) {
    const messaging = await connect();
    const { months } = await messaging.request(monthList, {});
    const closed = months.find((one) => one.month === month);
    if (!closed) throw new ServiceError('not_found', 'The month is not closed.');
    const { exportMonth } = await import('../month-files/export-month.js'); // no other command writes Parquet
    const { folder, differing } = await exportMonth(messaging, closed, String(out));
    const failed = differing.length > 0;
    const rows = closed.files.map(({ file, rows, sha256 }) => ({ file: `${file}.csv`, rows, sha256 }));
    const verdict = failed ? `NOT WHAT WAS CLOSED: ${differing.join(', ')}` : 'the files are what was closed';
    const table = renderTable(rows, '', { FILE: ({ file }) => file, ROWS: (row) => row.rows, SHA256: (row) => row.sha256 });
    return { text: json ? JSON.stringify({ folder, differing, ...closed }, null, 2) : [folder, table, verdict].join('\n\n'), failed };
  },
};

export const monthCommands: readonly CliCommand[] = [
  command({
    name: 'month close',
    summary: 'Close a month that is over: seal its rows with a digest, and write the statements of its accounts',
    parameters: { month: argument(month, 'month after the last closed one') },
    examples: ['month close 2027-01'],
    endpoint: monthClose,
    request: ({ month }) => ({ month }),
    render: ({ closed, ...month }) =>
      renderFields({
        month: month.month,
        closed: closed ? month.closedAt : `before, at ${month.closedAt}`,
        digest: month.digest,
        settlements: countRows(month, 'settlements'),
        'late settlements': countRows(month, 'late-settlements'),
        movements: countRows(month, 'movements'),
        statements: countRows(month, 'statements'),
      }),
    timeoutMs: MONTH_MS,
  }),
  command({
    name: 'month detach',
    summary: 'Take the oldest month out of the journals, to dump and drop its tables; it and the next month are closed',
    parameters: { month: argument(month, 'oldest month; all before it go with it') },
    examples: ['month detach 2027-01'],
    endpoint: monthDetach,
    request: ({ month }) => ({ month }),
    render: ({ month, tables, settlements, lateSettlements, detached, detachedAt }) =>
      renderFields({
        month,
        detached: detached ? detachedAt : `before, at ${detachedAt}`,
        settlements,
        'late settlements': lateSettlements,
        tables: tables.join(', '),
      }),
    timeoutMs: MONTH_MS,
  }),
  command({
    name: 'month attach',
    summary: 'Put the month that was detached last back into the journals, after its rows were compared with their digest',
    parameters: { month: argument(month, 'month that was detached last') },
    examples: ['month attach 2027-01'],
    endpoint: monthAttach,
    request: ({ month }) => ({ month }),
    render: ({ month, settlements, lateSettlements }) =>
      renderFields({ month, settlements, 'late settlements': lateSettlements, attached: 'its rows are those that were detached' }),
    timeoutMs: MONTH_MS,
  }),
  command({
    name: 'month list',
    summary: 'List closed months with their digests, the last one first',
    parameters: {},
    examples: ['month list'],
    endpoint: monthList,
    request: () => ({}),
    render: ({ months, detached }) =>
      renderTable(months, 'no month is closed', {
        MONTH: (row) => row.month,
        SETTLEMENTS: (row) => countRows(row, 'settlements'),
        MOVEMENTS: (row) => countRows(row, 'movements'),
        ACCOUNTS: (row) => countRows(row, 'statements'),
        'CLOSED AT': (row) => row.closedAt,
        'DETACHED AT': (row) => detached.find(({ month }) => month === row.month)?.detachedAt ?? null,
        DIGEST: (row) => row.digest,
      }),
  }),
  exportCommand,
];
