/**
 * Writes k8s/components/service-monitor/alerts.yaml and deploy/observability/dashboards from their sources, and the address of the runbooks
 * into the rules.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './local/project.mjs';
import { observabilityFiles } from './observability/observability-files.ts';

for (const [path, text] of Object.entries(observabilityFiles())) writeFileSync(join(ROOT, path), text);
