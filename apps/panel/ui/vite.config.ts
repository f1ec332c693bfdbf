import { join } from 'node:path';
import { defineConfig } from 'vite';
import { demoApi } from './dev/demo-api.js';

const ROOT = join(import.meta.dirname, '../../..');

/** `npm run build` builds with it. `npx vite apps/panel/ui` serves the pages with invented data while one works on them. */
export default defineConfig({
  root: import.meta.dirname,
  base: '/panel/',
  cacheDir: join(ROOT, '.local/vite'),
  plugins: [demoApi()],
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
});
