import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { valuesText, withValues } from './chart-values.ts';
import { COMPONENTS, type KubernetesObject, renderObjects } from './render-objects.ts';
import { anyEnabled, guarded, mapLines } from './template-lines.ts';

const { version, description } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** Versions of Kubernetes that the objects need. */
export const KUBERNETES = '>=1.31.0-0';

/** The objects of the base with one component. */
interface Variant {
  component: string;
  objects: KubernetesObject[];
}

/** Returns the text of each file of charts/tollgate by its path there. Needs kubectl. */
export function chartFiles(): Record<string, string> {
  const base = renderObjects([]);
  const variants = COMPONENTS.map((component) => ({ component, objects: renderObjects([component]).map(withValues) }));
  const chart = {
    apiVersion: 'v2',
    name: 'tollgate',
    description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: KUBERNETES,
  };
  return {
    'Chart.yaml': stringify(chart),
    'values.yaml': valuesText(base, COMPONENTS),
    ...baseTemplates(base.map(withValues), variants),
    ...Object.fromEntries(variants.flatMap((variant) => componentTemplate(base, variant))),
  };
}

/** A file for each service, and one for the network policies. Parts that a component changes depend on its value. */
function baseTemplates(base: KubernetesObject[], variants: Variant[]): Record<string, string> {
  const files: Record<string, string[]> = {};
  for (const object of base) {
    const name = object.metadata.labels?.['app.kubernetes.io/name'] ?? object.spec.selector?.matchLabels['app.kubernetes.io/name'];
    const path = `templates/${object.kind === 'NetworkPolicy' ? 'network-policies' : name}.yaml`;
    const ofObject = variants.map(({ component, objects }) => ({ component, value: findSame(objects, object) }));
    const changed = ofObject.filter(({ value }) => !isDeepStrictEqual(value, object));
    files[path] = [...(files[path] ?? []), '---', ...mapLines(object, changed)];
  }
  return Object.fromEntries(Object.entries(files).map(([path, lines]) => [path, joinLines(lines)]));
}

/** A file for the objects that only this component has, if there are any. */
function componentTemplate(base: KubernetesObject[], { component, objects }: Variant): [path: string, text: string][] {
  const added = objects.filter((object) => !base.some((other) => isSame(other, object)));
  const lines = added.flatMap((object) => ['---', ...mapLines(object, [])]);
  return added.length > 0 ? [[`templates/${component}.yaml`, joinLines(guarded(anyEnabled([component]), lines))]] : [];
}

/** @throws {Error} for a component that takes an object away. */
function findSame(objects: KubernetesObject[], object: KubernetesObject): KubernetesObject {
  const found = objects.find((other) => isSame(other, object));
  if (!found) throw new Error(`a component removes ${object.kind} ${object.metadata.name}`);
  return found;
}

function isSame(one: KubernetesObject, other: KubernetesObject): boolean {
  return one.kind === other.kind && isDeepStrictEqual(one.metadata.name, other.metadata.name);
}

function joinLines(lines: string[]): string {
  return `# Written by scripts/chart.ts.\n${lines.join('\n')}\n`;
}
