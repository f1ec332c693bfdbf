import { join } from 'node:path';
import { unpackDebianPackages } from './debian-packages.ts';
import { findOnPath, isExecutable, StartError, TOOLS } from './project.mjs';
import type { Status } from './status.mjs';
import type { Program } from './supervisor.ts';

const FETCHED = join(TOOLS, 'prometheus');
const ADVICE = 'install Debian’s package prometheus, or put prometheus and promtool on PATH';

/**
 * Finds Prometheus and its promtool on PATH, or unpacks Debian's package under .local/tools. Returns the paths of both.
 * @throws {StartError} when they are not to be had.
 */
export async function findPrometheus({ step }: Pick<Status, 'step'>): Promise<PrometheusPrograms> {
  const found = programsIn((name) => findOnPath(name));
  if (found) return found;
  const unpacked = (name: string): string => join(FETCHED, 'usr/bin', name);
  if (!programsIn(unpacked)) {
    await step('prometheus', async () => {
      await fetchPackage();
      return 'unpacked Debian’s package under .local/tools';
    });
  }
  return { prometheus: unpacked('prometheus'), promtool: unpacked('promtool') };
}

interface PrometheusPrograms {
  prometheus: string;
  promtool: string;
}

function programsIn(findPath: (name: string) => string | undefined): PrometheusPrograms | undefined {
  const [prometheus, promtool] = ['prometheus', 'promtool'].map(findPath);
  return prometheus && promtool && isExecutable(prometheus) && isExecutable(promtool) ? { prometheus, promtool } : undefined;
}

async function fetchPackage(): Promise<void> {
  try {
    await unpackDebianPackages({ names: ['prometheus'], folder: FETCHED });
  } catch (error) {
    throw new StartError(`no Prometheus found, and Debian’s package cannot be fetched (${(error as Error).message}): ${ADVICE}`);
  }
}

/** Prometheus with a configuration file, as a program for the supervisor. It keeps a week. */
export function prometheusProgram({
  prometheus,
  configFile,
  dataDir,
  port,
}: {
  prometheus: string;
  configFile: string;
  dataDir: string;
  port: number;
}): Program {
  const url = `http://127.0.0.1:${port}`;
  return {
    name: 'prometheus',
    command: prometheus,
    args: [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${dataDir}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--storage.tsdb.retention.time=7d',
      '--enable-feature=exemplar-storage',
      '--log.level=warn',
    ],
    env: { PATH: '/usr/bin:/bin', GOMAXPROCS: '1' },
    probe: () =>
      fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
  };
}

/** Returns the configuration of a Prometheus that scrapes the services at `opsUrls`, each as a job of its name. It is JSON, which is YAML. */
export function prometheusConfig({
  opsUrls,
  rules,
  interval,
}: {
  opsUrls: Record<string, string>;
  rules: string;
  interval: string;
}): string {
  return JSON.stringify({
    global: { scrape_interval: interval, evaluation_interval: interval },
    rule_files: [rules],
    scrape_configs: [...new Set(Object.values(opsUrls))].map((url) => {
      const names = Object.keys(opsUrls).filter((name) => opsUrls[name] === url);
      const job = names.length === 1 ? { job_name: names[0] } : { job_name: 'tollgate', honor_labels: true };
      return { ...job, static_configs: [{ targets: [new URL(url).host] }] };
    }),
  });
}
