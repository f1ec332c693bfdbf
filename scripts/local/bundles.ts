import { existsSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './project.mjs';
import { bundleOf, SERVICES } from './services.ts';
import type { Status } from './status.mjs';

export const PROGRAMS = [...SERVICES, 'tollgate', 'cli'] as const;
type ProgramName = (typeof PROGRAMS)[number];

/** Modules that a service loads by their path: its bundle has each as a file of its own, by this name. */
const BODY_WORKER = { 'body-worker': 'gateway/src/http/bodies/body-worker.js' };
const LOADED_BY_PATH: Partial<Record<ProgramName, Record<string, string>>> = { gateway: BODY_WORKER, tollgate: BODY_WORKER };

/**
 * Bundles programs of `dist` with their packages: Node loads a few files instead of a thousand, which takes a third of the processor time
 * and fifty megabytes from a start. The bundles are inside `dist`, so that a new build removes them, and as deep there as the sources,
 * because a program looks for its files above it.
 */
export async function ensureBundled({ step }: Pick<Status, 'step'>, programs: readonly ProgramName[]): Promise<void> {
  const missing = programs.filter((name) => !existsSync(bundleOf(name)));
  if (missing.length === 0) return;
  await step('bundles', async () => {
    await Promise.all(missing.map(bundle));
    return `bundled ${missing.join(', ')}`;
  });
}

async function bundle(name: ProgramName): Promise<void> {
  const { rolldown } = await import('rolldown'); // may not have been installed when this module was loaded
  const sources = join(ROOT, 'dist/apps');
  const input = { main: `${name}/src/main.js`, ...LOADED_BY_PATH[name] };
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
