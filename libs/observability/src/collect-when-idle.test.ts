import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { collectWhenIdle } from './collect-when-idle.js';

const lookEveryMs = 40;
const grown: Buffer[] = [];
let stop: () => void;
afterEach(() => {
  stop();
  grown.length = 0;
});

function grow(): void {
  grown.push(Buffer.alloc(64 * 1024 * 1024));
}

async function stayBusy(ms: number): Promise<void> {
  const until = Date.now() + ms;
  while (Date.now() < until) await new Promise((resolve) => setImmediate(resolve));
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 3_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('it did not happen within 3 s');
    await delay(20);
  }
}

test('what large work has left behind is collected once the loop is idle', async () => {
  stop = collectWhenIdle({ lookEveryMs });
  const remains = new WeakRef(new Array<number>(8_000_000).fill(0.5));
  await until(() => remains.deref() === undefined);
});

test('only when the loop is idle', async () => {
  const collect = jest.fn();
  stop = collectWhenIdle({ lookEveryMs, collect });
  grow();
  await stayBusy(10 * lookEveryMs);
  expect(collect).not.toHaveBeenCalled();
  await until(() => collect.mock.calls.length > 0);
});

test('once for each growth, and never after it was told to stop', async () => {
  const collect = jest.fn();
  stop = collectWhenIdle({ lookEveryMs, collect });
  await delay(5 * lookEveryMs);
  expect(collect).not.toHaveBeenCalled();
  grow();
  await delay(10 * lookEveryMs);
  expect(collect).toHaveBeenCalledTimes(1);
  stop();
  grow();
  await delay(5 * lookEveryMs);
  expect(collect).toHaveBeenCalledTimes(1);
});
