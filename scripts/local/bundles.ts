import { chmodSync, existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { InputOptions, OutputOptions, Plugin } from 'rolldown';
import { packageFile, ROOT } from './project.mjs';
import { bundleOf, COMMAND_LINE, OPTIONAL_SERVICES, SERVICES } from './services.ts';
import type { Status } from './status.mjs';

export const PROGRAMS = [...SERVICES, ...OPTIONAL_SERVICES, 'tollgate'] as const;
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
  const input = { main: `${name}/src/main.js`, ...LOADED_BY_PATH[name] };
  await writeBundle(dirname(bundleOf(name)), { input, treeshake: false }, { format: 'esm' });
}

/**
 * Bundles the command line so that it starts fast: small, and as CommonJS, because Node takes longer to link modules than to read them.
 * `sources` and `program` are those of another build, in a test.
 */
export async function bundleCommandLine(program: string = COMMAND_LINE, sources?: string): Promise<void> {
  await writeBundle(
    dirname(program),
    { input: { tollgate: 'cli/src/main.js' }, plugins: [await withoutRules()] },
    { format: 'cjs', minify: true, banner: '#!/usr/bin/env node', entryFileNames: '[name].cjs', chunkFileNames: '[name].cjs' },
    sources,
  );
  chmodSync(program, 0o755);
}

/**
 * Makes the decorators of class-validator do nothing: to run them takes a fifth of a command's time. The command line checks no message,
 * because the service that gets it does; its settings are texts of any kind.
 */
async function withoutRules(): Promise<Plugin> {
  const names = Object.keys(await import('class-validator')).filter((name) => /^\w+$/.test(name) && name !== 'default');
  const decorators = names.filter((name) => /^[A-Z]/.test(name));
  const code = `
    export { isIP } from ${JSON.stringify(packageFile('class-validator/cjs/decorator/string/IsIP.js'))};
    export const validateSync = () => [];
    export const ${decorators.map((name) => `${name} = () => () => {}`).join(', ')};
    export const length = undefined, getMetadataStorage = undefined; // of the check of messages`;
  const id = '\0no-rules';
  return {
    name: 'without-rules',
    resolveId: (imported) => (imported === 'class-validator' ? id : null),
    load: (loaded) => (loaded === id ? code : null),
  };
}

/** Bundles files of `sources` into a folder, which it replaces. */
export async function writeBundle(
  folder: string,
  { input, ...options }: InputOptions & { input: Record<string, string> },
  output: OutputOptions,
  sources = join(ROOT, 'dist/apps'),
): Promise<void> {
  const { rolldown } = await import('rolldown'); // may not have been installed when this module was loaded
  const built = await rolldown({
    input: Object.fromEntries(Object.entries(input).map(([entry, file]) => [entry, join(sources, file)])),
    platform: 'node',
    logLevel: 'silent', // rolldown warns of each optional package of Nest that is not installed
    ...options,
  });
  const draft = `${folder}.${process.pid}`;
  try {
    await built.write({ dir: draft, ...output });
    rmSync(folder, { recursive: true, force: true });
    renameSync(draft, folder);
  } finally {
    await built.close();
    rmSync(draft, { recursive: true, force: true });
  }
}
