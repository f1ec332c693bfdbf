import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultClientConditions, defineConfig, type ServerOptions, type UserConfig } from 'vite';

const ROOT = join(import.meta.dirname, '../../..');
const API = '/panel/v1';

/** `npm run build` builds with it. `npx vite apps/panel/ui` serves the pages of a running system while one works on them. */
export default defineConfig(
  async ({ command }): Promise<UserConfig> => ({
    root: import.meta.dirname,
    base: '/panel/',
    cacheDir: join(ROOT, '.local/vite'),
    ...(command === 'serve' && { server: await serveRunningSystem() }),
    resolve: { conditions: ['@tollgate/source', ...defaultClientConditions] },
    oxc: { jsx: { runtime: 'automatic' } },
    css: { modules: { generateScopedName: '[name]_[local]_[hash:base64:4]' } },
    build: {
      outDir: join(ROOT, 'dist/apps/panel/ui'),
      emptyOutDir: true,
      target: 'es2023',
      // The policy of the pages allows no inline script, and `<use>` takes no `data:` address.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      rolldownOptions: {
        // The licences of the bundled packages.
        output: { comments: { legal: true } },
        // Packages mark their files for servers that render pages.
        onLog: (level, log, next) => void (log.code !== 'MODULE_LEVEL_DIRECTIVE' && next(level, log)),
      },
    },
  }),
);

/**
 * Passes calls of the API to the panel at PANEL_URL, else to that of `npm start`, as if its own pages made them. On the panel's host,
 * because a browser sends the session's cookie to every port of a host.
 */
async function serveRunningSystem(): Promise<ServerOptions> {
  const panelUrl = process.env.PANEL_URL || findStarted();
  await fetch(`${panelUrl}${API}/session`).catch(() => {
    throw new Error(`no panel answers at ${panelUrl}: run npm start, or name a panel with PANEL_URL`);
  });
  return { host: new URL(panelUrl).hostname, proxy: { [API]: { target: panelUrl, headers: { origin: panelUrl } } } };
}

function findStarted(): string {
  const facts = join(process.env.TOLLGATE_DATA ?? join(ROOT, '.local'), 'demo.json');
  return existsSync(facts) ? JSON.parse(readFileSync(facts, 'utf8')).panelUrl : 'http://127.0.0.1:8081';
}
