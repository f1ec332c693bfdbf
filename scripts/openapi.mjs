// Writes docs/openapi.json, the document of GET /openapi.json, from the last build (`npm run build`).

import { writeFileSync } from 'node:fs';
import { openApiDocument } from '../dist/apps/gateway/src/openapi/document.js';

writeFileSync('docs/openapi.json', `${JSON.stringify(openApiDocument(), null, 2)}\n`);
