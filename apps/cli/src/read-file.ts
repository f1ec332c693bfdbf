import { readFile } from 'node:fs/promises';
import { UsageError } from './usage-error.js';

/** Reads a text file of 1 to `lengthMax` characters. Throws `UsageError`. */
export async function readTextFile(file: string, lengthMax: number): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read ${file}: ${error.code === 'ENOENT' ? 'no such file' : error.code}`);
  });
  if (text.length === 0 || text.length > lengthMax) {
    throw new UsageError(`${file} must have 1 to ${lengthMax} characters, it has ${text.length}`);
  }
  return text;
}
