import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { ROOT } from '../local/project.mjs';
import { bundleOf, SERVICES, type ServiceName } from '../local/services.ts';
import type { Status } from '../local/status.mjs';

/** Modules that a service loads by their path: its bundle has each as a file of its own, by this name. */
const LOADED_BY_PATH: Partial<Record<ServiceName, Record<string, string>>> = { gateway: { 'body-worker': 'http/bodies/body-worker.js' } };

/**
 * Bundles each service of `dist` with its packages, for systems that tests start and kill by the dozen: Node loads a few files instead of a
 * thousand, which halves the processor time of a start. The bundles are inside `dist`, so that a new build removes them, and as deep there
 * as the sources, because a program looks for its files above and beside it.
 */
export async function ensureBundled({ step }: Pick<Status, 'step'>): Promise<void> {
  const missing = SERVICES.filter((name) => !existsSync(bundleOf(name)));
  if (missing.length === 0) return;
  await step('bundles', async () => {
    await Promise.all(missing.map(bundle));
    return `bundled ${missing.join(', ')}`;
  });
}

async function bundle(name: ServiceName): Promise<void> {
  const sources = join(ROOT, `dist/apps/${name}/src`);
  const input = { main: 'main.js', ...LOADED_BY_PATH[name] };
  const built = await rolldown({
    input: Object.fromEntries(Object.entries(input).map(([entry, file]) => [entry, join(sources, file)])),
    platform: 'node',
    treeshake: false,
    logLevel: 'silent', // rolldown warns of each optional package of Nest that is not installed
  });
  const folder = join(ROOT, `dist/apps/${name}/bundle`);
  const draft = `${folder}.${process.pid}`;
  try {
    await built.write({ dir: draft, format: 'esm' });
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } finally {
    await built.close();
    rmSync(draft, { recursive: true, force: true });
  }
}
