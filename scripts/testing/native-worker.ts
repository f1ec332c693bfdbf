/** A process in which scripts/testing/native-runner.ts runs test files, one after the other. */
import { createRequire, registerHooks } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

/** The settings of a project of Jest. */
export interface Config {
  displayName?: unknown;
  slowTestThreshold: number;
}

/** The result of a file, as Jest's own runner returns it. */
interface FileResult {
  numPendingTests: number;
  numPassingTests: number;
  numFailingTests: number;
  numTodoTests: number;
  perfStats: object;
}

type Circus = (globalConfig: object, config: Config, environment: object, runtime: object, path: string) => Promise<FileResult>;

const require = createRequire(import.meta.url);
const runByCircus: Circus = require('jest-circus/runner').default;
/** Keeps the state of one test file, so that each file gets a new one. */
const CIRCUS_STATE = join(dirname(require.resolve('jest-circus')), 'jestAdapterInit.js');
const GLOBALS = ['jest', 'expect', 'test', 'it', 'describe', 'beforeAll', 'beforeEach', 'afterAll', 'afterEach'];

/** Node's own modules call them too. */
const NODE_NEEDS = ['nextTick', 'queueMicrotask'] as const;

const mocker = new ModuleMocker(globalThis);
let files = 0;

// `@jest/globals` only works below Jest's own runner.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals' ? { url: `jest-globals:${files}`, shortCircuit: true } : next(specifier, context),
  load: (url, context, next) =>
    url.startsWith('jest-globals:')
      ? { format: 'module', source: `export const { ${GLOBALS.join(', ')} } = globalThis;`, shortCircuit: true }
      : next(url, context),
});

/** Returns what Jest's own runner returns. Undoes what the file did to timers, mocks and the environment of the process. */
export async function runFile({ path, config, globalConfig }: { path: string; config: Config; globalConfig: object }): Promise<object> {
  files += 1;
  const timers = new ModernFakeTimers({ config, global: globalThis } as unknown as ConstructorParameters<typeof ModernFakeTimers>[0]);
  Object.assign(globalThis, { jest: jestOf(timers) });
  const variables = { ...process.env };
  const start = Date.now();
  const result = await runByCircus(globalConfig, config, { global: globalThis, fakeTimersModern: timers }, RUNTIME, path);
  timers.useRealTimers();
  mocker.restoreAllMocks();
  for (const name of Object.keys(process.env).filter((one) => !(one in variables))) delete process.env[name];
  Object.assign(process.env, variables);
  const end = Date.now();
  const slow = end - start > config.slowTestThreshold * 1000;
  const skipped = result.numPendingTests > 0 && result.numPassingTests + result.numFailingTests + result.numTodoTests === 0;
  return {
    ...result,
    displayName: config.displayName,
    perfStats: { ...result.perfStats, start, end, runtime: end - start, slow },
    skipped,
  };
}

const RUNTIME = {
  requireInternalModule(file: string) {
    if (file === CIRCUS_STATE) {
      delete require.cache[file];
      Reflect.deleteProperty(globalThis, Symbol.for('EVENT_HANDLERS'));
    }
    return require(file);
  },
  requireModule: require,
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: (file: string) => import(pathToFileURL(file).href),
  setGlobalsForRuntime: () => undefined,
  enterTestCode: () => undefined,
  leaveTestCode: () => undefined,
};

/** The functions of `jest` that the tests use. */
function jestOf(timers: ModernFakeTimers): object {
  const useFakeTimers: ModernFakeTimers['useFakeTimers'] = ({ doNotFake = [], ...options } = {}) =>
    timers.useFakeTimers({ ...options, doNotFake: [...doNotFake, ...NODE_NEEDS] });
  return {
    spyOn: mocker.spyOn.bind(mocker),
    restoreAllMocks: () => mocker.restoreAllMocks(),
    useFakeTimers,
    useRealTimers: () => timers.useRealTimers(),
    setSystemTime: (now: number | Date) => timers.setSystemTime(now),
    advanceTimersByTime: (ms: number) => timers.advanceTimersByTime(ms),
    advanceTimersByTimeAsync: (ms: number) => timers.advanceTimersByTimeAsync(ms),
  };
}
