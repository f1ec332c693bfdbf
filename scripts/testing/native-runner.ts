import { fileURLToPath } from 'node:url';
import { Worker } from 'jest-worker';
import type { Config } from './native-worker.ts';

const WORKER = fileURLToPath(new URL('native-worker.ts', import.meta.url));
const TYPESCRIPT = new URL('../../libs/testing/src/typescript-hooks.mjs', import.meta.url).href;

interface GlobalConfig {
  maxWorkers: number;
  workerIdleMemoryLimit?: number;
}

interface Test {
  path: string;
  context: { config: object };
}

/** The exposed methods of the worker. */
type TestWorker = Worker & Pick<typeof import('./native-worker.ts'), 'runFile'>;

/**
 * A runner of Jest that imports test files as Node imports programs: the files of a worker process share one registry of modules. Jest's own
 * runner evaluates every module again for each test file. With `workerIdleMemoryLimit: 0` each file gets a process of its own.
 */
export default class NativeRunner {
  supportsEventEmitters = false;
  private readonly globalConfig: GlobalConfig;

  constructor(globalConfig: GlobalConfig) {
    this.globalConfig = globalConfig;
  }

  async runTests(
    tests: Test[],
    watcher: { isInterrupted(): boolean },
    onStart: (test: Test) => Promise<void>,
    onResult: (test: Test, result: object) => Promise<void>,
    onFailure: (test: Test, error: unknown) => Promise<void>,
  ): Promise<void> {
    const { maxWorkers, workerIdleMemoryLimit } = this.globalConfig;
    const queue = tests.values();
    const work = async (): Promise<void> => {
      let worker: TestWorker | undefined;
      for (const test of queue) {
        if (watcher.isInterrupted()) break;
        worker ??= startWorker();
        await onStart(test);
        const done = worker.runFile({ path: test.path, config: test.context.config as Config, globalConfig: this.globalConfig });
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

function startWorker(): TestWorker {
  const worker = new Worker(WORKER, {
    exposedMethods: ['runFile'],
    numWorkers: 1,
    maxRetries: 0,
    forkOptions: { execArgv: ['--import', TYPESCRIPT, '--enable-source-maps', '--no-warnings'], stdio: 'pipe' },
  }) as TestWorker;
  worker.getStdout()?.pipe(process.stdout);
  worker.getStderr()?.pipe(process.stderr);
  return worker;
}
