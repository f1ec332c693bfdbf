import { fileURLToPath } from 'node:url';
import { defineConfig } from 'prisma/config';

// Prisma's engine as WASM, so that Prisma downloads nothing.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= fileURLToPath(new URL('./scripts/prisma/schema-engine.ts', import.meta.url));

// Only commands that connect to a database need `DATABASE_URL`.
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? '' },
});
