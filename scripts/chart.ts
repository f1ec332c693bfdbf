/** `npm run chart`: writes the Helm chart charts/tollgate from k8s. Needs kubectl. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chartFiles } from './chart/chart-files.ts';
import { ROOT } from './local/project.mjs';

const CHART = join(ROOT, 'charts/tollgate');

const files = chartFiles();
rmSync(CHART, { recursive: true, force: true });
for (const [path, text] of Object.entries(files)) {
  mkdirSync(dirname(join(CHART, path)), { recursive: true });
  writeFileSync(join(CHART, path), text);
}
