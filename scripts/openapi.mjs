// Writes docs/openapi.json, the document of GET /openapi.json, from the sources.

import { writeFileSync } from 'node:fs';
import { ensureBuilt } from './local/build.mjs';
import { createStatus } from './local/status.mjs';

await ensureBuilt(createStatus());
const { openApiDocument } = await import('../dist/apps/gateway/src/openapi/document.js');
writeFileSync('docs/openapi.json', `${JSON.stringify(openApiDocument(), null, 2)}\n`);
