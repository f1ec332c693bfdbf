import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../local/project.mjs';
import { buildDashboard } from './build-dashboard.ts';

/**
 * Address of docs/runbooks.md where your operators read it. After a change run scripts/observability.ts. In the Helm chart it
 * is a value.
 */
export const RUNBOOKS = 'https://tollgate.example.com/runbooks';

const RULES = 'deploy/observability/rules.yaml';
const SOURCES = 'scripts/observability/dashboards';
const DASHBOARDS = ['traffic', 'upstreams', 'money'];

/** Returns the text of each file that scripts/observability.ts writes, by its path. */
export function observabilityFiles(): Record<string, string> {
  const dashboards = DASHBOARDS.map((name) => [
    `deploy/observability/dashboards/${name}.json`,
    `${JSON.stringify(buildDashboard(parse(readFileSync(join(ROOT, SOURCES, `${name}.yaml`), 'utf8'))), null, 2)}\n`,
  ]);
  const rules = readFileSync(join(ROOT, RULES), 'utf8').replaceAll(/(?<=^ +runbook_url: )[^#\n]*(?=#)/gm, RUNBOOKS);
  return {
    [RULES]: rules,
    'k8s/components/service-monitor/alerts.yaml': prometheusRule(rules),
    ...Object.fromEntries(dashboards),
  };
}

/** The rules as an object of the Prometheus operator. */
function prometheusRule(rules: string): string {
  const groups = rules.slice(rules.indexOf('groups:')).trimEnd().split('\n');
  return `# Written by scripts/observability.ts from ${RULES}.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: tollgate
spec:
${groups.map((line) => `  ${line}\n`).join('')}`;
}
