import { createHash } from 'node:crypto';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ClosedMonth, MONTH_FILES, type MonthFile, monthFileHeader, monthRead } from '#contracts/billing/months.js';
import type { Messaging } from '#messaging/messaging.js';
import { parseLines } from './csv-lines.js';
import { ParquetFile } from './parquet-file.js';

const PAGE_MS = 60_000;
const MANIFEST = 'manifest.txt';

/**
 * Writes the files of a closed month into a folder of its name, page by page, each as CSV and as Parquet. The manifest comes last: a folder
 * without one is not complete. Returns the names of files that differ from the digests of the month.
 */
export async function exportMonth(
  messaging: Pick<Messaging, 'request'>,
  { month, manifest, files, digest }: ClosedMonth,
  out: string,
): Promise<{ folder: string; differing: string[] }> {
  const folder = join(out, month);
  await mkdir(folder, { recursive: true });
  await rm(join(folder, MANIFEST), { force: true });
  const differing = createHash('sha256').update(manifest).digest('hex') === digest ? [] : [MANIFEST];
  for (const file of files) if ((await writeFiles(messaging, month, file, folder)) !== file.sha256) differing.push(`${file.file}.csv`);
  await writeFile(join(folder, MANIFEST), manifest);
  return { folder, differing };
}

/** Returns the SHA-256 of the CSV file. */
async function writeFiles(messaging: Pick<Messaging, 'request'>, month: string, { file }: MonthFile, folder: string): Promise<string> {
  const hash = createHash('sha256');
  const csv = await open(join(folder, `${file}.csv`), 'w');
  try {
    const parquet = new ParquetFile(join(folder, `${file}.parquet`), MONTH_FILES[file]);
    const write = async (text: string): Promise<void> => {
      hash.update(text);
      await csv.appendFile(text);
    };
    await write(monthFileHeader(file));
    let cursor: string | undefined;
    do {
      const { lines, nextCursor } = await messaging.request(monthRead, { month, file, ...(cursor && { cursor }) }, { timeoutMs: PAGE_MS });
      await write(lines);
      await parquet.add(parseLines(lines));
      cursor = nextCursor ?? undefined;
    } while (cursor);
    await parquet.finish();
  } finally {
    await csv.close();
  }
  return hash.digest('hex');
}
