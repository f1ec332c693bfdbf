import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** Runs scripts/conformance.ts in a repository. */
function printPage(repository = '.'): { status: number | null; stdout: string; faults: string[] } {
  const script = resolve('scripts/conformance.ts');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--print'], { cwd: repository, encoding: 'utf8' });
  return { status, stdout, faults: stderr.split('\n').filter(Boolean) };
}

test('every rule has a proof or a reason', () => {
  const { status, stdout, faults } = printPage();
  expect([status, faults]).toEqual([0, []]);
  expect(Number(/\*\*all\*\* \| (\d+)/.exec(stdout)?.[1])).toBeGreaterThan(400);
});

test('unknown rules, rules without a proof and missing fixtures are faults', () => {
  const repository = mkdtempSync(join(tmpdir(), 'conformance-'));
  try {
    for (const folder of ['docs', 'apps', 'libs', 'test']) mkdirSync(join(repository, folder));
    writeFileSync(
      join(repository, 'docs/rules.yaml'),
      `sections: { All: { C-1: Proven., C-2: Neither., C-3: Open. } }
open: { C-3: Later., C-4: No such rule. }
fixtures: { apps: { gone.json: C-1 } }`,
    );
    writeFileSync(join(repository, 'apps/a.test.ts'), `test('null is absent [${['C-1', 'no-rule'].join(', ')}]', f);`);
    expect(printPage(repository)).toMatchObject({
      status: 1,
      faults: [
        'apps/a.test.ts: docs/rules.yaml has no rule no-rule',
        'docs/rules.yaml: apps/gone.json does not exist',
        'docs/rules.yaml: no rule C-4 can be open',
        'docs/rules.yaml: C-2 has neither a proof nor a reason',
      ],
    });
  } finally {
    rmSync(repository, { recursive: true });
  }
});

test('every rule that a comment cites is in docs/rules.yaml', () => {
  const rules = readFileSync('docs/rules.yaml', 'utf8');
  const cited = ['apps', 'libs', 'test']
    .flatMap(sourcesBelow)
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(?<=[ '(/[])(?:[HECRMLUT]-\d+[a-i]?)(?=[ :,;).'\]])/g)].map(([id]) => ({ id, file })),
    );
  expect(cited.length).toBeGreaterThan(200);
  expect(cited.filter(({ id }) => !rules.includes(`\n    ${id}: `))).toEqual([]);
});

function sourcesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|json|txtar)$/.test(path) && !path.includes('generated/') && !path.endsWith('architecture/conformance.test.ts'))
    .map((path) => join(folder, path));
}
