/**
 * `node scripts/image.ts [--base] [--debian <root>] <folder>`: writes the file system of the image into a folder. The Dockerfile copies it onto
 * its base, whose packages `--debian` lists. With `--base` the folder, which must not exist, gets a base too: no engine of containers is needed.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { writeImageBase } from './image/image-base.ts';
import { writeImageFiles } from './image/image-files.ts';
import { ensureBuilt } from './local/build.ts';
import { StartError } from './local/project.mjs';
import { createStatus } from './local/status.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { base: { type: 'boolean' }, debian: { type: 'string' } },
});
try {
  const [folder, ...others] = positionals;
  if (!folder || others.length > 0) throw new StartError('name one folder');
  const root = resolve(folder);
  if (values.base && existsSync(root)) throw new StartError(`${root} exists already`);
  await ensureBuilt(createStatus());
  mkdirSync(root, { recursive: true });
  if (values.base) await writeImageBase(root);
  await writeImageFiles(root, { debian: values.base ? root : (values.debian ?? '/') });
} catch (error) {
  process.stderr.write(`${error instanceof StartError ? error.message : (error as Error).stack}\n`);
  process.exitCode = 1;
}
