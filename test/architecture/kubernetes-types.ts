import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubernetesObject } from '../../scripts/chart/render-objects.ts';

/** Packages with the types of an API group; groups of Kubernetes itself are in the last. */
const PACKAGES: [group: RegExp, name: string][] = [
  [/^gateway\.networking\.k8s\.io\//, '@kubernetes-models/gateway-api'],
  [/^cert-manager\.io\//, '@kubernetes-models/cert-manager'],
  [/^external-secrets\.io\//, '@kubernetes-models/external-secrets'],
  [/^keda\.sh\//, '@kubernetes-models/keda'],
  [/^monitoring\.coreos\.com\//, '@kubernetes-models/prometheus-operator'],
  [/^postgresql\.cnpg\.io\//, '@kubernetes-models/cloudnative-pg'],
  [/./, 'kubernetes-models'],
];

const OPTIONS = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  types: [],
};

/**
 * Returns the complaints of the compiler about objects as literals of the API's own types: unknown fields, missing ones, wrong types.
 * One run for all objects, because loading the types takes most of the time.
 */
export function typeErrors(objects: KubernetesObject[]): string[] {
  const sources = objects.map((object, index) => {
    const { apiVersion, kind } = object;
    const [, name] = PACKAGES.find(([group]) => group.test(apiVersion)) ?? [];
    const literal = JSON.stringify(object, null, 1);
    return `import type { I${kind} as T${index} } from '${name}/${apiVersion}';\nexport const o${index}: T${index} = ${literal};\n`;
  });
  mkdirSync('.local', { recursive: true });
  const folder = mkdtempSync('.local/objects-'); // in the project, where the types are found
  try {
    writeFileSync(join(folder, 'objects.ts'), sources.join(''));
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS, files: ['objects.ts'] }));
    const compiler = ['node_modules/typescript-7/bin/tsc', '-p', folder, '--pretty', 'false'];
    const { stdout, status } = spawnSync(process.execPath, compiler, { encoding: 'utf8', env: { PATH: process.env.PATH } });
    const errors = [...stdout.matchAll(/\((\d+),\d+\): error TS\d+: (.*)/g)];
    if (errors.length === 0 && status !== 0) throw new Error(`the compiler failed: ${stdout}`);
    return errors.map(([, line, message]) => `${objectAt(Number(line), sources, objects)}: ${message}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The object whose source has the line, counted from 1. */
function objectAt(line: number, sources: string[], objects: KubernetesObject[]): string {
  let end = 0;
  const index = sources.findIndex((source) => {
    end += source.split('\n').length - 1;
    return line <= end;
  });
  const { kind, metadata } = objects[index] as KubernetesObject;
  return `${kind} ${metadata.name}`;
}
