import { dirname, join } from 'node:path';
import { NODE, ROOT } from '../local/project.mjs';
import { runCommand } from '../local/run-command.mjs';
import { JEST } from './jest.ts';

/** Test files of jest projects that are among `files` or reach one of them by imports. */
export async function relatedTests(projects: string[], files: string[]): Promise<string[]> {
  const args = [...JEST, '--selectProjects', ...projects, '--listTests', '--json', '--findRelatedTests', ...files];
  const listed = await runCommand(NODE, args, { cwd: ROOT, failure: 'list of tests', env: { ...process.env, NODE_OPTIONS: '' } });
  return (JSON.parse(listed) as string[]).sort();
}

/**
 * Files that differ from the branch that this one left (`origin/main`, else `main`), in the working tree too. Without any difference, those
 * of the last commit. Deleted files are left out.
 */
export async function changedFiles(): Promise<string[]> {
  const git = async (...args: string[]): Promise<string[]> =>
    (await runCommand('git', args, { cwd: ROOT, failure: 'git' })).split('\n').filter(Boolean);
  const base = async (branch: string): Promise<string> => (await git('merge-base', 'HEAD', branch))[0] ?? branch;
  const since = await base('origin/main').catch(() => base('main'));
  const untracked = await git('ls-files', '--others', '--exclude-standard');
  const changed = [...(await git('diff', '--name-only', '--diff-filter=d', since)), ...untracked];
  return changed.length > 0 ? changed : git('diff', '--name-only', '--diff-filter=d', 'HEAD~1');
}

/** Unit tests that reach one of the changed `files`, and integration tests in the folder of one that do. */
export async function changedTests(files: string[]): Promise<{ unit: string[]; integration: string[] }> {
  const code = files.filter((file) => /\.(ts|tsx|mjs)$/.test(file));
  if (code.length === 0) return { unit: [], integration: [] };
  const folders = new Set(code.map((file) => join(ROOT, dirname(file))));
  const related = await relatedTests(['unit', 'integration'], code);
  const isIntegration = (file: string): boolean => file.endsWith('.integration.test.ts');
  return {
    unit: related.filter((file) => !isIntegration(file)),
    integration: related.filter((file) => isIntegration(file) && folders.has(dirname(file))),
  };
}
