/** The chart in an empty folder: its schema takes its values, and Helm, where it is installed, lints and renders it. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { chartFiles } from '../../scripts/chart/chart-files.ts';
import { COMPONENTS, hasKubectl, LAYOUTS, renderObjects } from '../../scripts/chart/render-objects.ts';
import { camelCase } from '../../scripts/chart/template-lines.ts';
import { findOnPath } from '../../scripts/local/project.mjs';
import { inEmptyFolder, run, runWell } from './empty-folder.ts';

const noKubectl = hasKubectl ? false : 'kubectl renders the objects, and is not on PATH';
const noHelm = findOnPath('helm') ? noKubectl : 'helm is not on PATH';

/** Values of a cluster: every component but keda, which stands for hpa. */
function clusterValues(oneProcess: boolean): object {
  const enabled = COMPONENTS.filter((name) => name !== 'keda').map((name) => [camelCase(name), { enabled: true }]);
  return { oneProcess, image: { tag: 'local' }, components: Object.fromEntries(enabled) };
}

void test('the chart’s values have the form of its schema', { skip: noKubectl }, () => {
  const files = chartFiles();
  const check = new Ajv({ strict: true, allowUnionTypes: true }).compile(JSON.parse(files['values.schema.json'] ?? ''));
  assert.ok(check(parse(files['values.yaml'] ?? '')), JSON.stringify(check.errors));
});

void test('Helm packages, lints and renders the chart to the objects of kustomize, and refuses a misspelled value', {
  skip: noHelm,
}, async () => {
  await inEmptyFolder(async (folder, env) => {
    for (const [path, text] of Object.entries(chartFiles())) {
      mkdirSync(dirname(join(folder, 'tollgate', path)), { recursive: true });
      writeFileSync(join(folder, 'tollgate', path), text);
    }
    const helm = (...args: string[]) => runWell('helm', args, { cwd: folder, env });
    helm('lint', '--strict', 'tollgate');
    const archive = /\S+\.tgz/.exec(helm('package', 'tollgate'))?.[0] ?? '';
    for (const layout of LAYOUTS) {
      writeFileSync(join(folder, 'values.yaml'), stringify(clusterValues(layout === 'one-process')));
      const rendered = parseAllDocuments(helm('template', 'tollgate', archive, '--values', 'values.yaml')).map((one) => one.toJS());
      const named = (objects: { kind: string; metadata: { name: string } }[]) =>
        objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
      const wanted = named(
        renderObjects(
          COMPONENTS.filter((name) => name !== 'keda'),
          layout,
        ),
      );
      assert.deepEqual(named(rendered.filter((object) => object !== null)).sort(), wanted.sort());
    }
    const { status, stderr } = run('helm', ['template', 'tollgate', archive, '--set', 'gateway.replica=2'], { cwd: folder, env });
    assert.notEqual(status, 0);
    assert.match(stderr, /additional properties 'replica' not allowed|Additional property replica is not allowed/);
  });
});
