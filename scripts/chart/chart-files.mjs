import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { valuesText, withValues } from './chart-values.mjs';
import { COMPONENTS, renderObjects } from './render-objects.mjs';
import { anyEnabled, guarded, mapLines } from './template-lines.mjs';

const { version, description } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** Versions of Kubernetes that the objects need. */
export const KUBERNETES = '>=1.31.0-0';

/** Returns the text of each file of charts/tollgate by its path there. Needs kubectl. */
export function chartFiles() {
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
function baseTemplates(base, variants) {
  const files = {};
  for (const object of base) {
    const name = object.metadata.labels['app.kubernetes.io/name'] ?? object.spec.selector?.matchLabels['app.kubernetes.io/name'];
    const path = `templates/${object.kind === 'NetworkPolicy' ? 'network-policies' : name}.yaml`;
    const ofObject = variants.map(({ component, objects }) => ({ component, value: objects.find((other) => isSame(other, object)) }));
    const changed = ofObject.filter(({ value }) => !isDeepStrictEqual(value, object));
    files[path] = [...(files[path] ?? []), '---', ...mapLines(object, changed)];
  }
  return Object.fromEntries(Object.entries(files).map(([path, lines]) => [path, joinLines(lines)]));
}

/** A file for the objects that only this component has, if there are any. */
function componentTemplate(base, { component, objects }) {
  const added = objects.filter((object) => !base.some((other) => isSame(other, object)));
  const lines = added.flatMap((object) => ['---', ...mapLines(object, [])]);
  return added.length > 0 ? [[`templates/${component}.yaml`, joinLines(guarded(anyEnabled([component]), lines))]] : [];
}

function isSame(one, other) {
  return one.kind === other.kind && isDeepStrictEqual(one.metadata.name, other.metadata.name);
}

function joinLines(lines) {
  return `# Written by scripts/chart.mjs.\n${lines.join('\n')}\n`;
}
