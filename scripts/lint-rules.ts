// Checks the alert rules with promtool, and runs their tests. Skipped without promtool, which is a failure where `CI` is set.

import { spawnSync } from 'node:child_process';
import { StartError } from './local/project.mjs';
import { findPrometheus } from './local/prometheus.ts';
import { createStatus } from './local/status.mjs';

const FOLDER = 'deploy/observability';

try {
  const { promtool } = await findPrometheus(createStatus());
  for (const args of [
    ['check', 'rules', `${FOLDER}/rules.yaml`],
    ['check', 'config', '--syntax-only', `${FOLDER}/prometheus.yaml`],
    ['test', 'rules', `${FOLDER}/rules.test.yaml`],
  ]) {
    const { status } = spawnSync(promtool, args, { stdio: 'inherit' });
    if (status !== 0) process.exitCode = 1;
  }
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.log(`alert rules are not checked: ${error.message}`);
  if (process.env.CI) process.exitCode = 1;
}
