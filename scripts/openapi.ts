// Writes docs/openapi.json, the document of GET /openapi.json, from the sources.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureBuilt } from './local/build.ts';
import { ROOT } from './local/project.mjs';
import { createStatus } from './local/status.mjs';

await ensureBuilt(createStatus());
const { openApiDocument } = (await import(join(ROOT, 'dist/apps/gateway/src/openapi/document.js'))) as { openApiDocument(): object };
writeFileSync('docs/openapi.json', `${JSON.stringify(openApiDocument(), null, 2)}\n`);
