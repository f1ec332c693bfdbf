import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { hasKubectl, type KubernetesObject, renderFolder } from '../../scripts/chart/render-objects.ts';
import { typeErrors } from './kubernetes-types.js';

/** The examples of docs/tenants.md for CI, Argo CD and Flux. */
const YAML = [...readFileSync('docs/tenants.md', 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const find = (sign: string): string => YAML.find((text) => text.includes(sign)) ?? '';

// Skipped without kubectl, which renders the objects.
(hasKubectl ? test : test.skip)('kubectl renders the objects of the page, whose Job mounts the file', () => {
  mkdirSync('.local', { recursive: true });
  const folder = mkdtempSync('.local/tenants-page-');
  writeFileSync(join(folder, 'kustomization.yaml'), find('kind: Kustomization'));
  writeFileSync(join(folder, 'apply-tenants.yaml'), find('kind: Job'));
  writeFileSync(join(folder, 'access.yaml'), find('kind: Role'));
  writeFileSync(join(folder, 'tenants.yaml'), find('accounts:'));
  const objects = renderFolder(folder);
  rmSync(folder, { recursive: true });
  const [file, job] = ['ConfigMap', 'Job'].map((kind) => objects.find((one) => one.kind === kind) as KubernetesObject);
  expect(objects.map(({ kind }) => kind).sort()).toEqual(['ConfigMap', 'Job', 'Role', 'RoleBinding', 'ServiceAccount']);
  expect(typeErrors(objects)).toEqual([]);
  expect(file?.data).toEqual({ 'tenants.yaml': find('accounts:') });
  const volume = job?.spec.template.spec.volumes[0];
  expect(volume).toEqual({ name: 'tenants', configMap: { name: file?.metadata.name } });
});

test('the Job of the page runs as the account that its Role lets write Secrets, and nothing else', () => {
  const documents = find('kind: Role')
    .split(/^---$/m)
    .map((text) => parse(text) as KubernetesObject & { rules: object; roleRef: object; subjects: object });
  const [account, role, binding] = ['ServiceAccount', 'Role', 'RoleBinding'].map((kind) => documents.find((one) => one.kind === kind));
  const job = parse(find('kind: Job')) as KubernetesObject;
  const { namespace } = parse(find('kind: Kustomization')) as { namespace: string };
  const name = job.spec.template.spec.serviceAccountName;
  expect(account?.metadata.name).toBe(name);
  expect(role?.rules).toEqual([{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create', 'patch'] }]);
  expect(binding?.roleRef).toEqual({ apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role?.metadata.name });
  expect(binding?.subjects).toEqual([{ kind: 'ServiceAccount', name, namespace }]);
});

test('the workflow of the page plans each pull request, and applies the main branch', () => {
  const { on, jobs } = parse(find('pull_request:')) as { on: object; jobs: { tenants: { steps: { run?: string; if?: string }[] } } };
  expect(on).toEqual({ pull_request: null, push: { branches: ['main'] } });
  const runs = jobs.tenants.steps.filter(({ run = '' }) => run.startsWith('tollgate apply'));
  expect(runs.map(({ run = '', if: when }) => [run.includes('--plan'), when])).toEqual([
    [true, undefined],
    [false, "github.ref == 'refs/heads/main'"],
  ]);
});
