// Writes apps/panel/openapi.json, the document of GET /panel/openapi.json, from the sources; with --print to standard output.

import { readFileSync, writeFileSync } from 'node:fs';
import { panelDocument } from './panel-openapi/document.ts';
import { readPanel } from './panel-openapi/operations.ts';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const page = `${JSON.stringify(panelDocument(readPanel(), version), null, 2)}\n`;
if (process.argv.includes('--print')) process.stdout.write(page);
else writeFileSync('apps/panel/openapi.json', page);
