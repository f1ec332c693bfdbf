import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { parse, stringify } from 'yaml';
import { valuesText, withValues } from './chart-values.ts';
import { COMPONENTS, type KubernetesObject, LAYOUTS, type Layout, renderObjects } from './render-objects.ts';
import { anyEnabled, guarded, mapLines } from './template-lines.ts';
import { valuesSchema } from './values-schema.ts';

const { version, description } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** Versions of Kubernetes that the objects need. */
export const KUBERNETES = '>=1.31.0-0';

/** The component that adds a workload, which other components change. */
const WORKLOAD = 'payments';

/** The objects of a layout with one component. */
interface Variant {
  component: string;
  objects: KubernetesObject[];
}

/** The lines of an object in a file of the chart. */
interface Template {
  path: string;
  lines: string[];
}

/** Returns the text of each file of charts/tollgate by its path there. Needs kubectl. */
export function chartFiles(): Record<string, string> {
  const chart = {
    apiVersion: 'v2',
    name: 'tollgate',
    description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion: KUBERNETES,
  };
  const values = valuesText(
    LAYOUTS.flatMap((layout) => renderObjects([WORKLOAD], layout)),
    COMPONENTS,
  );
  return {
    'Chart.yaml': stringify(chart),
    'values.yaml': values,
    'values.schema.json': `${JSON.stringify(valuesSchema(parse(values)), null, 2)}\n`,
    ...joinLayouts(layoutTemplates('base'), layoutTemplates('one-process')),
  };
}

/** Objects that both layouts have stand once; the others depend on the value `oneProcess`. */
function joinLayouts(split: Template[], oneProcess: Template[]): Record<string, string> {
  const files: Record<string, string[]> = {};
  const add = ({ path, lines }: Template, condition?: string): void => {
    files[path] = [...(files[path] ?? []), ...(condition === undefined ? lines : guarded(condition, lines))];
  };
  const isIn = (templates: Template[], one: Template): boolean => templates.some((other) => isDeepStrictEqual(other, one));
  for (const template of split) add(template, isIn(oneProcess, template) ? undefined : 'not .Values.oneProcess');
  for (const template of oneProcess) if (!isIn(split, template)) add(template, '.Values.oneProcess');
  return Object.fromEntries(Object.entries(files).map(([path, lines]) => [path, joinLines(lines)]));
}

function layoutTemplates(layout: Layout): Template[] {
  const objects = renderObjects([], layout);
  const variants = COMPONENTS.map((component) => ({ component, objects: renderObjects([component], layout).map(withValues) }));
  return [
    ...objects.map((object) => baseTemplate(withValues(object), variants)),
    ...variants.flatMap((variant) => componentTemplates(objects, variant, variant.component === WORKLOAD ? withWorkload(layout) : [])),
  ];
}

/** An object in the file of its service, or in that of the network policies. Parts that a component changes depend on its value. */
function baseTemplate(object: KubernetesObject, variants: Variant[]): Template {
  const name = object.metadata.labels?.['app.kubernetes.io/name'] ?? object.spec.selector?.matchLabels['app.kubernetes.io/name'];
  return {
    path: `templates/${object.kind === 'NetworkPolicy' ? 'network-policies' : name}.yaml`,
    lines: ['---', ...mapLines(object, changes(object, variants))],
  };
}

/** The objects of a layout with the workload and each other component. */
function withWorkload(layout: Layout): Variant[] {
  return COMPONENTS.filter((component) => component !== WORKLOAD).map((component) => ({
    component,
    objects: renderObjects([WORKLOAD, component], layout).map(withValues),
  }));
}

/** The objects that only this component has, in a file of its name. Parts that another component changes depend on its value. */
function componentTemplates(base: KubernetesObject[], { component, objects }: Variant, others: Variant[]): Template[] {
  const added = objects.filter((object) => !base.some((other) => isSame(other, object)));
  return added.map((object) => ({
    path: `templates/${component}.yaml`,
    lines: guarded(anyEnabled([component]), ['---', ...mapLines(object, changes(object, others))]),
  }));
}

/** The variants that differ from the object. */
function changes(object: KubernetesObject, variants: Variant[]) {
  const ofObject = variants.map(({ component, objects }) => ({ component, value: findSame(objects, object) }));
  return ofObject.filter(({ value }) => !isDeepStrictEqual(value, object));
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
