import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { LOCAL, ROOT } from '../local/project.mjs';

export interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: objects have the fields of their kind.
  [field: string]: any;
}

const KUBERNETES = join(ROOT, 'k8s');

/** Folders of k8s/components. */
export const COMPONENTS = readdirSync(join(KUBERNETES, 'components')).sort();

/** False on a machine without kubectl. Where `CI` is set, kubectl is taken for granted, and rendering fails without it. */
export const hasKubectl = Boolean(process.env.CI) || !spawnSync('kubectl', ['version', '--client']).error;

/** Folders of k8s of which one is in each overlay: the services as programs of their own, or in one process. */
export const LAYOUTS = ['base', 'one-process'] as const;

export type Layout = (typeof LAYOUTS)[number];

/** Rendered objects by their layout and components. */
const rendered = new Map<string, KubernetesObject[]>();

/**
 * Returns the objects of a layout with these components, as `kubectl kustomize` renders them. A component in the folder of the layout is
 * used in place of the one of its name in k8s/components.
 * @throws {Error} with the complaint of kubectl.
 */
export function renderObjects(components: string[], layout: Layout = 'base'): KubernetesObject[] {
  const key = [layout, ...components].join();
  const objects = rendered.get(key) ?? renderLayout(layout, components);
  rendered.set(key, objects);
  return structuredClone(objects);
}

function renderLayout(layout: Layout, components: string[]): KubernetesObject[] {
  mkdirSync(LOCAL, { recursive: true });
  const folder = mkdtempSync(join(LOCAL, 'kustomize-'));
  const path = (name: string): string => relative(folder, join(KUBERNETES, name));
  const own = (name: string): string => (existsSync(join(KUBERNETES, layout, name)) ? layout : 'components');
  // Payments first: it adds a workload, which the others change.
  const ordered = components.toSorted((one, other) => Number(other === 'payments') - Number(one === 'payments'));
  try {
    const kustomization = { resources: [path(layout)], components: ordered.map((name) => path(`${own(name)}/${name}`)) };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    return renderFolder(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the objects of a folder with a kustomization. @throws {Error} with the complaint of kubectl. */
export function renderFolder(folder: string): KubernetesObject[] {
  const { status, stdout, stderr, error } = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  if (error ?? (status !== 0 || stderr !== '')) throw error ?? new Error(`kubectl kustomize ${folder}: ${stderr}`);
  return parseAllDocuments(stdout).map((document) => document.toJS());
}
