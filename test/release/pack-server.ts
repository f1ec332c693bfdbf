import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createStatus } from '../../scripts/local/status.mjs';
import { writeServerPackage } from '../../scripts/packages/server-package.ts';
import { cleanEnvironment, npmPack, runWell } from './empty-folder.ts';

/** Packs the npm package of the server. Returns the path of the archive and of the files in it. */
export async function packServer(): Promise<{ archive: string; files: string[]; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-packed-'));
  const env = cleanEnvironment(folder);
  await writeServerPackage(join(folder, 'package'), createStatus({ quiet: true }));
  const archive = npmPack(join(folder, 'package'), folder, env);
  const files = runWell('tar', ['-tzf', archive], { cwd: folder, env }).trim().split('\n');
  return { archive, files, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
