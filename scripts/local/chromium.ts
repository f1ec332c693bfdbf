import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { unpackDebianPackages } from './debian-packages.ts';
import { findOnPath, isExecutable, StartError, TOOLS } from './project.mjs';
import type { Status } from './status.mjs';

const NAMES = ['chromium', 'chromium-headless-shell', 'google-chrome'];
/** The browser without a window, and the fonts of the screenshots. */
const PACKAGES = ['chromium-headless-shell', 'fonts-inter', 'fonts-jetbrains-mono'];
const FETCHED = join(TOOLS, 'chromium');
const BINARY = join(FETCHED, 'usr/lib/chromium/chromium-headless-shell');
const FONTS = join(FETCHED, 'fonts.conf');
const ADVICE = 'install Debian’s package chromium, or set CHROMIUM_PATH';

/**
 * Finds Chromium at CHROMIUM_PATH or on PATH, or unpacks Debian's package under .local/tools. Returns its path and the variables that it
 * needs, for Playwright's `launch`.
 * @throws {StartError} when none is to be had.
 */
export async function findChromium({ step }: Pick<Status, 'step'>): Promise<{ executablePath: string; env: Record<string, string> }> {
  const named = process.env.CHROMIUM_PATH;
  if (named && !isExecutable(named)) throw new StartError(`CHROMIUM_PATH is no program: ${named}`);
  const found = named || NAMES.map((name) => findOnPath(name)).find(Boolean);
  if (found) return { executablePath: found, env: {} };
  if (!isExecutable(BINARY)) {
    await step('chromium', async () => {
      await fetchPackages();
      return 'unpacked Debian’s package under .local/tools';
    });
  }
  return { executablePath: BINARY, env: { LD_LIBRARY_PATH: libraryFolders().join(':'), FONTCONFIG_FILE: FONTS } };
}

async function fetchPackages(): Promise<void> {
  try {
    await unpackDebianPackages({ names: PACKAGES, folder: FETCHED, dependencies: true });
  } catch (error) {
    throw new StartError(`no Chromium found, and Debian’s package cannot be fetched (${(error as Error).message}): ${ADVICE}`);
  }
  mkdirSync(join(FETCHED, 'cache'), { recursive: true });
  writeFileSync(FONTS, fontSettings());
}

/** usr/lib and two levels of folders below it: that of the machine's architecture, and those of its libraries. */
function libraryFolders(): string[] {
  const root = join(FETCHED, 'usr/lib');
  const below = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [join(folder, entry.name)] : []));
  return [root, ...below(root), ...below(root).flatMap(below)];
}

/** Pages look the same on every machine that has no fonts of its own. */
function fontSettings(): string {
  const preferred = { 'system-ui': 'Inter', 'sans-serif': 'Inter', 'ui-monospace': 'JetBrains Mono', monospace: 'JetBrains Mono' };
  const aliases = Object.entries(preferred).map(
    ([family, font]) => `<alias binding="same"><family>${family}</family><prefer><family>${font}</family></prefer></alias>`,
  );
  const folders = [`<dir>${join(FETCHED, 'usr/share/fonts')}</dir>`, `<cachedir>${join(FETCHED, 'cache')}</cachedir>`];
  return `<?xml version="1.0"?>\n<!DOCTYPE fontconfig SYSTEM "fonts.dtd">\n<fontconfig>\n${[...folders, ...aliases].join('\n')}\n</fontconfig>\n`;
}
