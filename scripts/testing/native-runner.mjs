import { fileURLToPath } from 'node:url';
import { Worker } from 'jest-worker';

const WORKER = fileURLToPath(new URL('native-worker.mjs', import.meta.url));
const TYPESCRIPT = new URL('../../libs/testing/src/typescript-hooks.mjs', import.meta.url).href;

/**
 * A runner of Jest that imports test files as Node imports programs: the files of a worker process share one registry of modules. Jest's own
 * runner evaluates every module again for each test file.
 */
export default class NativeRunner {
  supportsEventEmitters = false;
  #globalConfig;

  constructor(globalConfig) {
    this.#globalConfig = globalConfig;
  }

  async runTests(tests, watcher, onStart, onResult, onFailure) {
    const { maxWorkers, workerIdleMemoryLimit } = this.#globalConfig;
    const workers = new Worker(WORKER, {
      exposedMethods: ['runFile'],
      numWorkers: maxWorkers,
      maxRetries: 0,
      idleMemoryLimit: workerIdleMemoryLimit,
      forkOptions: { execArgv: ['--import', TYPESCRIPT, '--enable-source-maps', '--no-warnings'], stdio: 'pipe' },
    });
    workers.getStdout()?.pipe(process.stdout);
    workers.getStderr()?.pipe(process.stderr);
    const queue = tests.values();
    const work = async () => {
      for (const test of queue) {
        if (watcher.isInterrupted()) return;
        await onStart(test);
        const done = workers.runFile({ path: test.path, config: test.context.config, globalConfig: this.#globalConfig });
        await done.then(
          (result) => onResult(test, result),
          (error) => onFailure(test, error), // the process died
        );
      }
    };
    await Promise.all(Array.from({ length: maxWorkers }, work));
    await workers.end();
  }
}
