import { spawn } from 'node:child_process';
import { once } from 'node:events';

const HOUR_MS = 3_600_000;

test(
  'the unit tests of the modules in stryker.config.mjs notice most changes of their code',
  async () => {
    const child = spawn(process.execPath, ['node_modules/@stryker-mutator/core/bin/stryker.js', 'run'], {
      stdio: 'inherit',
      env: { ...process.env, NODE_OPTIONS: '', TEST_LONG: '' },
    });
    expect(await once(child, 'close')).toEqual([0, null]);
  },
  4 * HOUR_MS,
);
