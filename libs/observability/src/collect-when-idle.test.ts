import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { collectWhenIdle } from './collect-when-idle.js';

const lookEveryMs = 40;
const MB = 1024 * 1024;

/** The heap as this test says it is; a collection takes it down to `live`. */
class Heap {
  usedMb = 100;
  liveMb = 100;
  readonly usedBytes = jest.fn(() => this.usedMb * MB);
  readonly collect = jest.fn(() => {
    this.usedMb = this.liveMb;
  });

  /** Resolves after so many looks of an idle loop. */
  async looks(count: number): Promise<void> {
    const until = this.usedBytes.mock.calls.length + count;
    await eventually(() => this.usedBytes.mock.calls.length >= until);
  }
}

let stop: () => void;
afterEach(() => stop());

async function eventually(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('it did not happen within 15 s');
    await delay(lookEveryMs / 2);
  }
}

async function stayBusy(ms: number): Promise<void> {
  const until = Date.now() + ms;
  while (Date.now() < until) await new Promise((resolve) => setImmediate(resolve));
}

test('what large work has left behind is collected once the loop is idle', async () => {
  // Said to grow on and on: what other tests of this process leave behind or give back must not hide the growth.
  let usedBytes = 0;
  stop = collectWhenIdle({ lookEveryMs, usedBytes: () => (usedBytes += 100 * MB) });
  const remains = new WeakRef(new Array<number>(1_000_000).fill(0.5));
  await eventually(() => remains.deref() === undefined);
});

test('memory outside of the heap counts too', async () => {
  const collect = jest.fn();
  stop = collectWhenIdle({ lookEveryMs, collect });
  const bodies: Buffer[] = [];
  await eventually(() => {
    if (bodies.length < 20) bodies.push(Buffer.allocUnsafeSlow(64 * MB));
    return collect.mock.calls.length > 0;
  });
});

test('only when the loop is idle', async () => {
  const heap = new Heap();
  stop = collectWhenIdle({ lookEveryMs, ...heap });
  heap.usedMb = 200;
  await stayBusy(10 * lookEveryMs);
  expect(heap.collect).not.toHaveBeenCalled();
  await eventually(() => heap.collect.mock.calls.length === 1);
});

test('once for each growth, and not for a small one', async () => {
  const heap = new Heap();
  stop = collectWhenIdle({ lookEveryMs, ...heap });
  heap.usedMb = 140;
  await heap.looks(4);
  expect(heap.collect).not.toHaveBeenCalled();
  heap.usedMb = 300;
  heap.liveMb = 250;
  await eventually(() => heap.collect.mock.calls.length === 1);
  await heap.looks(4);
  expect(heap.collect).toHaveBeenCalledTimes(1);
});

test('growth counts from the least there was, also when V8 has collected by itself', async () => {
  const heap = new Heap();
  stop = collectWhenIdle({ lookEveryMs, ...heap });
  heap.usedMb = 30;
  await heap.looks(2);
  heap.usedMb = 90;
  await eventually(() => heap.collect.mock.calls.length === 1);
});

test('never after it was told to stop', async () => {
  const heap = new Heap();
  stop = collectWhenIdle({ lookEveryMs, ...heap });
  stop();
  heap.usedMb = 500;
  await delay(4 * lookEveryMs);
  expect(heap.collect).not.toHaveBeenCalled();
});
