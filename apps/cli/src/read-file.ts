import { readFile, stat } from 'node:fs/promises';
import { UsageError } from './usage-error.js';

/** UTF-8 has at most as many bytes for a character of a string. */
const CHARACTER_BYTES_MAX = 3;

/** Reads a text file of 1 to `lengthMax` characters. Throws `UsageError`, for a much larger file before it is read. */
export async function readTextFile(file: string, lengthMax: number): Promise<string> {
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  if (size > lengthMax * CHARACTER_BYTES_MAX) throw new UsageError(`${file} must have 1 to ${lengthMax} characters, it has ${size} bytes`);
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read ${file}: ${error.code === 'ENOENT' ? 'no such file' : error.code}`);
  });
  if (text.length === 0 || text.length > lengthMax) {
    throw new UsageError(`${file} must have 1 to ${lengthMax} characters, it has ${text.length}`);
  }
  return text;
}
