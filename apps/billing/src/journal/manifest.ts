import { createHash } from 'node:crypto';
import { MONTH_FILE_NAMES, type MonthFile } from '#contracts/billing/months.js';

/** Text that seals a month. It is written once, so its form never changes. */
export interface Manifest {
  month: string;
  /** Digest of the month before, or of nothing. */
  before: string;
  /** Journal rows of later transactions belong to later months. */
  transactionEnd: string;
  files: MonthFile[];
}

const NONE = '-';
const FORM = new RegExp(
  `^tollgate month 1\nmonth (\\d{4}-\\d{2})\nbefore ([0-9a-f]{64}|${NONE})\ntransactions (\\d{1,19})\n((?:[a-z-]+\\.csv \\d+ [0-9a-f]{64}\n)+)$`,
);

/** Renders one line for each file: its name, rows and SHA-256, as `sha256sum` shows it. */
export function renderManifest({ month, before, transactionEnd, files }: Manifest): string {
  return [
    'tollgate month 1',
    `month ${month}`,
    `before ${before || NONE}`,
    `transactions ${transactionEnd}`,
    ...files.map(({ file, rows, sha256 }) => `${file}.csv ${rows} ${sha256}`),
    '',
  ].join('\n');
}

/** Returns undefined for a text that `renderManifest` did not write. */
export function parseManifest(text: string): Manifest | undefined {
  const [, month, before, transactionEnd, lines] = FORM.exec(text) ?? [];
  if (month === undefined || before === undefined || transactionEnd === undefined || lines === undefined) return undefined;
  const parts = new Map(lines.split('\n').map((line) => [line.slice(0, line.indexOf('.')), line.split(' ')]));
  const files = MONTH_FILE_NAMES.flatMap((file) => {
    const [, rows, sha256] = parts.get(file) ?? [];
    return rows === undefined || sha256 === undefined ? [] : { file, rows: Number(rows), sha256 };
  });
  const manifest = { month, before: before === NONE ? '' : before, transactionEnd, files };
  return renderManifest(manifest) === text ? manifest : undefined;
}

export function computeDigest(manifest: string): string {
  return createHash('sha256').update(manifest).digest('hex');
}
