import { fileURLToPath } from 'node:url';
import { Worker } from 'jest-worker';

const WORKER = fileURLToPath(new URL('native-worker.mjs', import.meta.url));
const TYPESCRIPT = new URL('../../libs/testing/src/typescript-hooks.mjs', import.meta.url).href;

/**
 * A runner of Jest that imports test files as Node imports programs: the files of a worker process share one registry of modules. Jest's own
 * runner evaluates every module again for each test file. With `workerIdleMemoryLimit: 0` each file gets a process of its own.
 */
export default class NativeRunner {
  supportsEventEmitters = false;
  #globalConfig;

  constructor(globalConfig) {
    this.#globalConfig = globalConfig;
  }

  async runTests(tests, watcher, onStart, onResult, onFailure) {
    const { maxWorkers, workerIdleMemoryLimit } = this.#globalConfig;
    const queue = tests.values();
    const work = async () => {
      let worker;
      for (const test of queue) {
        if (watcher.isInterrupted()) break;
        worker ??= startWorker();
        await onStart(test);
        const done = worker.runFile({ path: test.path, config: test.context.config, globalConfig: this.#globalConfig });
        await done.then(
          (result) => onResult(test, result),
          (error) => onFailure(test, error), // the process died
        );
        if (workerIdleMemoryLimit !== 0) continue;
        await worker.end();
        worker = undefined;
      }
      await worker?.end();
    };
    await Promise.all(Array.from({ length: maxWorkers }, work));
  }
}

function startWorker() {
  const worker = new Worker(WORKER, {
    exposedMethods: ['runFile'],
    numWorkers: 1,
    maxRetries: 0,
    forkOptions: { execArgv: ['--import', TYPESCRIPT, '--enable-source-maps', '--no-warnings'], stdio: 'pipe' },
  });
  worker.getStdout()?.pipe(process.stdout);
  worker.getStderr()?.pipe(process.stderr);
  return worker;
}
