import { fileURLToPath } from 'node:url';
import { defineConfig } from 'prisma/config';

// Prisma's own engine as WASM: nothing is downloaded, not even by `prisma generate`.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= fileURLToPath(new URL('./scripts/prisma/schema-engine.mjs', import.meta.url));

// `DATABASE_URL` is only needed by commands that reach a database.
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? '' },
});
