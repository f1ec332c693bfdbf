import { spawnSync } from 'node:child_process';
import { COMMANDS, GROUPS } from './commands/table.js';
import { renderCompletion, SHELLS } from './completion-script.js';

/** Completes a line at its end in a real bash. */
function complete(line: string): string[] {
  // Bash splits a line at `=` too.
  const words = line.split(/ +|(?==)|(?<==)/);
  const script = `${renderCompletion('bash', COMMANDS, GROUPS)}
    COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}) COMP_CWORD=${words.length - 1}
    _tollgate
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', script], { encoding: 'utf8' });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout.split('\n').filter((word) => word !== '');
}

test.each<[line: string, words: string[]]>([
  ['tollgate ac', ['account']],
  ['tollgate account ', ['create', 'list', 'update']],
  ['tollgate account l', ['list']],
  ['tollgate usage --st', ['--step']],
  ['tollgate usage --step ', ['hour', 'day']],
  ['tollgate usage --step=h', ['hour']],
  ['tollgate usage --step=', ['hour', 'day']],
  ['tollgate usage r', ['rebuild']],
  ['tollgate usage --account a', []],
  ['tollgate key update ci --dis', ['--disabled']],
  ['tollgate key create --project web --na', ['--name']],
  ['tollgate completion ', ['bash', 'zsh', 'fish']],
  ['tollgate audit --action key.', ['key.create', 'key.update', 'key.rotate', 'key.revoke']],
  ['tollgate catalog apply ', []],
  ['tollgate nonsense ', COMMANDS.map(({ name }) => name.split(' ')[0] ?? '').filter((word, at, all) => all.indexOf(word) === at)],
])('bash completes %s', (line, words) => {
  expect(complete(line)).toEqual(words);
});

test.each([...COMMANDS])('bash completes every option of $name', ({ name, parameters }) => {
  const options = Object.entries(parameters).filter(([, { kind }]) => kind !== 'argument');
  const names = options.map(([option]) => `--${option.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`);
  expect(complete(`tollgate ${name} --`)).toEqual([...names, '--json', '--help']);
});

test.each([...SHELLS])('%s reads its script', (shell) => {
  const { error, status, stderr } = spawnSync(shell, ['-n'], { input: renderCompletion(shell, COMMANDS, GROUPS), encoding: 'utf8' });
  if (error && 'code' in error && error.code === 'ENOENT') return; // not on this machine
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});
