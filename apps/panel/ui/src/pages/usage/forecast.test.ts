import type { UsageRow } from '../../../../src/shapes/billing.js';
import { forecastFrom, forecastMonth } from './forecast.js';

const NOON = Date.parse('2026-11-21T12:00:00Z');
const row = (day: string, cost: number): UsageRow => ({
  start: `${day}T00:00:00.000Z`,
  costPicoUsd: `${cost}`,
  ...{ requests: 1, estimatedRequests: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, forfeitedPicoUsd: '0' },
});

test('the rest of the month costs as much a day as the last seven full days did', () => {
  const rows = [row('2026-11-02', 1_000), row('2026-11-14', 70), row('2026-11-20', 70), row('2026-11-21', 5)];
  // 140 in seven days, for the nine and a half days that are left.
  expect(forecastMonth(rows, NOON)).toEqual({ spent: 1_145n, perDay: 20n, days: 7, total: 1_335n });
});

test('days before the first request do not count', () => {
  expect(forecastMonth([row('2026-11-19', 30), row('2026-11-21', 8)], NOON)).toEqual({ spent: 38n, perDay: 15n, days: 2, total: 180n });
});

test('on the first day the rest goes on as today', () => {
  expect(forecastMonth([row('2026-11-21', 10)], NOON)).toEqual({ spent: 10n, perDay: 20n, days: 0, total: 200n });
});

test('at the start of a month the last days of the month before count', () => {
  const now = Date.parse('2026-12-01T00:30:00Z');
  expect(forecastMonth([row('2026-11-24', 70), row('2026-12-01', 1)], now)).toMatchObject({ spent: 1n, perDay: 10n, days: 7 });
  expect(new Date(forecastFrom(now)).toISOString()).toBe('2026-11-24T00:00:00.000Z');
  expect(new Date(forecastFrom(NOON)).toISOString()).toBe('2026-11-01T00:00:00.000Z');
});

test('without a request, or with one of this hour alone, there is no forecast', () => {
  expect(forecastMonth([], NOON)).toBeNull();
  expect(forecastMonth([row('2026-11-21', 10)], Date.parse('2026-11-21T00:59:00Z'))).toBeNull();
});
