import type { EndedRequest } from '../../../../src/shapes/overview.js';
import { LIVE_ROWS, LiveRows, STEP_ROWS } from './live-rows.js';

const requests = (from: number, to: number): EndedRequest[] =>
  Array.from({ length: to - from }, (_, at) => ({
    requestId: String(from + at),
    receivedAt: '',
    protocol: 'chat',
    stream: false,
    status: 200,
    endedMs: 1,
  }));
const listIds = (rows: LiveRows): string[] => rows.shown.map(({ requestId }) => requestId);

test('the newest is on top', () => {
  const rows = new LiveRows();
  rows.add(requests(0, 3));
  rows.step();
  rows.add(requests(3, 4));
  rows.step();
  expect([listIds(rows), rows.more]).toEqual([['3', '2', '1', '0'], 0]);
});

test('a step shows five rows, and the list has a limit', () => {
  const rows = new LiveRows();
  rows.add(requests(0, 15));
  rows.step();
  expect([listIds(rows).length, rows.more]).toEqual([STEP_ROWS, 10]);
  rows.step();
  rows.step();
  expect([listIds(rows).length, listIds(rows)[0], rows.more]).toEqual([LIVE_ROWS, '14', 0]);
});

test('while no step is made, all but the last 20 are counted only', () => {
  const rows = new LiveRows();
  rows.add(requests(0, 300));
  rows.add(requests(300, 312));
  expect([rows.more, rows.skipped]).toEqual([312, 292]);
  rows.clearSkipped();
  rows.step();
  expect([listIds(rows), rows.more]).toEqual([['296', '295', '294', '293', '292'], 15]);
});

test('what the server left out counts', () => {
  const rows = new LiveRows();
  rows.skip(40);
  expect(rows.more).toBe(40);
});
