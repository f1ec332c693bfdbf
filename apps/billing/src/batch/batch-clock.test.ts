import { jest } from '@jest/globals';
import { BatchClock } from './batch-clock.js';

let ours = 0;
beforeEach(() => {
  ours = 5_000;
  jest.spyOn(performance, 'now').mockImplementation(() => ours);
});
afterEach(() => jest.restoreAllMocks());

test('the clock is undefined before the first reading', () => {
  expect(new BatchClock().now()).toBeUndefined();
});

test('the clock advances with the process clock, slightly slower, so that it is never ahead', () => {
  const clock = new BatchClock();
  clock.reset(1_000_000);
  ours += 2_000;
  expect(clock.now()).toBe(1_001_998);
});

test('the faster of two readings counts', () => {
  const clock = new BatchClock();
  clock.reset(1_000_000); // 40 ms old
  ours += 100;
  clock.observe(1_000_140);
  expect(clock.now()).toBe(1_000_140);
  ours += 100;
  clock.observe(1_000_190); // 50 ms old
  expect(clock.now()).toBe(1_000_239);
});

test('the clock never goes back, except for the reading of a locked batch', () => {
  const clock = new BatchClock();
  clock.reset(1_000_000);
  ours += 1_000;
  expect(clock.now()).toBe(1_000_999);
  ours -= 500; // an estimate lower than the one before
  expect(clock.now()).toBe(1_000_999);
  clock.reset(900_000);
  expect(clock.now()).toBe(900_000);
});
