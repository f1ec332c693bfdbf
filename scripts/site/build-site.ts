import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, globSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { npm } from '../local/dependencies.mjs';
import { LOCAL, NODE, ROOT, StartError } from '../local/project.mjs';
import { stageSite } from './stage-site.ts';

const FOLDER = join(ROOT, 'site');
const VITEPRESS = join(FOLDER, 'node_modules/vitepress/bin/vitepress.js');

/**
 * Builds the site and returns its folder. Installs the generator when it is missing; nothing else needs the network.
 * @throws {StartError} when the build fails, as for a link to a page that does not exist.
 */
export async function buildSite({ base = '/', repository }: { base?: string; repository?: string | undefined } = {}): Promise<string> {
  if (!existsSync(VITEPRESS)) await npm(['ci', '--ignore-scripts', '--loglevel=error'], FOLDER);
  const [pages, build, cache] = ['pages', 'build', 'cache'].map((name) => join(LOCAL, 'site', name)) as [string, string, string];
  rmSync(build, { recursive: true, force: true });
  stageSite(pages, { repository });
  const env = { ...process.env, SITE_PAGES: pages, SITE_BUILD: build, SITE_CACHE: cache, SITE_BASE: base };
  try {
    await promisify(execFile)(NODE, [VITEPRESS, 'build', FOLDER], { cwd: ROOT, env, maxBuffer: 2 ** 26 });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new StartError(`the site is not built:\n${stdout}\n${stderr}`);
  }
  for (const page of globSync('**/*.md', { cwd: pages })) {
    mkdirSync(dirname(join(build, page)), { recursive: true });
    copyFileSync(join(pages, page), join(build, page));
  }
  return build;
}
