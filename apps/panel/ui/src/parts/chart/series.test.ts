import fc from 'fast-check';
import type { UsageRow } from '../../../../src/shapes/billing.js';
import type { Colour } from '../../data/outcomes.js';
import { assignColours, type Bar, chooseTicks, nextBar, ratio, stackParts, stackSeries } from './series.js';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-11-23T10:00:00Z');

const row = (hour: number, model: string, costPicoUsd: number): UsageRow => ({
  start: new Date(START + hour * HOUR_MS).toISOString(),
  model,
  requests: 1,
  estimatedRequests: 0,
  promptTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  costPicoUsd: `${costPicoUsd}`,
  forfeitedPicoUsd: '0',
});

const stackRows = (rows: UsageRow[], to = START + 3 * HOUR_MS) =>
  stackSeries({
    rows,
    readId: ({ model = '' }) => model,
    measure: (each) => BigInt(each.costPicoUsd),
    from: START + 1_200_000,
    to,
    stepMs: HOUR_MS,
  });

describe('a stack', () => {
  test('has a bar for each step, empty ones too, and the largest series first', () => {
    const { series, bars, max } = stackRows([row(0, 'small', 2), row(0, 'large', 5), row(2, 'large', 4)]);
    expect(series.map(({ id }) => id)).toEqual(['large', 'small']);
    expect(bars).toEqual([
      { at: START, values: [5n, 2n], total: 7n },
      { at: START + HOUR_MS, values: [0n, 0n], total: 0n },
      { at: START + 2 * HOUR_MS, values: [4n, 0n], total: 4n },
    ]);
    expect(max).toBe(7n);
  });

  test('adds up the series beyond the sixth', () => {
    const { series, bars } = stackRows(Array.from({ length: 9 }, (_, at) => row(1, `model-${at}`, 10 - at)));
    expect(series.map(({ id, colour }) => [id, colour === 'rest'])).toEqual([
      ...Array.from({ length: 6 }, (_, at) => [`model-${at}`, false]),
      ['', true],
    ]);
    expect(bars[1]?.values).toEqual([10n, 9n, 8n, 7n, 6n, 5n, 4n + 3n + 2n]);
  });

  test('leaves out rows outside its time, and loses nothing within it', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: -1, max: 4 }), fc.integer({ min: 0, max: 9 }), fc.nat())), (rows) => {
        const { bars } = stackRows(rows.map(([hour, model, cost]) => row(hour, `m${model}`, cost)));
        const inside = rows.reduce((sum, [hour, , cost]) => sum + (hour >= 0 && hour < 3 ? cost : 0), 0);
        expect(bars.reduce((sum, { total }) => sum + total, 0n)).toBe(BigInt(inside));
        for (const { values, total } of bars) expect(values.reduce((sum, value) => sum + value, 0n)).toBe(total);
      }),
    );
  });
});

describe('colours', () => {
  test('of a legend are all different, however many series there are [money-outcome-colours]', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 2, maxLength: 20 }), (ids) => {
        const { series } = stackRows(ids.map((id, at) => row(0, id, at + 1)));
        expect(new Set(series.map(({ colour }) => colour)).size).toBe(series.length);
      }),
    );
  });

  test('may be given, and are asked for the named series alone', () => {
    const asked: string[][] = [];
    const rows = Array.from({ length: 9 }, (_, at) => row(1, `model-${at}`, 10 - at));
    const coloursFor = (ids: string[]) => {
      asked.push(ids);
      return new Map(ids.map((id, at): [string, Colour] => [id, `client-${at}`]));
    };
    const options = {
      rows,
      readId: ({ model = '' }: UsageRow) => model,
      measure: () => 1n,
      from: START,
      to: START + HOUR_MS,
      stepMs: HOUR_MS,
    };
    expect(stackSeries({ ...options, coloursFor }).series.map(({ colour }) => colour)).toEqual([
      ...Array.from({ length: 6 }, (_, at) => `client-${at}`),
      'rest',
    ]);
    expect(asked).toEqual([Array.from({ length: 6 }, (_, at) => `model-${at}`)]);
  });

  test('follow from the names, not from their order or their number', () => {
    const few = assignColours(['qwen3-32b', 'gpt-oss-120b']);
    const reversed = assignColours(['gpt-oss-120b', 'qwen3-32b']);
    expect(reversed).toEqual(few);
    expect(assignColours(['zephyr', 'qwen3-32b', 'gpt-oss-120b']).get('gpt-oss-120b')).toBe(few.get('gpt-oss-120b'));
  });

  test('differ as long as there are enough', () => {
    const colours = assignColours(Array.from({ length: 7 }, (_, at) => `series ${at}`));
    expect(new Set(colours.values()).size).toBe(7);
  });
});

test('the parts of a bar lie on one another, without corrections below zero', () => {
  const bar: Bar = { at: START, values: [10n, -3n, 30n], total: 37n };
  expect(stackParts(bar, 40n)).toEqual([
    { series: 0, from: 0, to: 0.25 },
    { series: 2, from: 0.25, to: 1 },
  ]);
  expect(stackParts(bar, 0n)).toEqual([]);
});

test('ticks are round, few, and reach the largest value', () => {
  expect(chooseTicks(0n)).toEqual([0n]);
  expect(chooseTicks(37n)).toEqual([0n, 10n, 20n, 30n, 40n]);
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 24n }), (max) => {
      const ticks = chooseTicks(max);
      expect(ticks.length).toBeLessThanOrEqual(5);
      expect((ticks.at(-1) ?? 0n) >= max).toBe(true);
    }),
  );
});

test('a ratio to nothing is nothing', () => {
  expect([ratio(1n, 0n), ratio(1n, 4n), ratio(3n, 3n)]).toEqual([0, 0.25, 1]);
});

test.each([
  ['ArrowRight', 0, 1],
  ['ArrowRight', 3, 3],
  ['ArrowLeft', 0, 0],
  ['ArrowLeft', 2, 1],
  ['Home', 2, 0],
  ['End', 0, 3],
  ['Tab', 1, undefined],
  ['ArrowRight', -1, undefined],
])('%s on bar %i of four moves to %p', (key, at, next) => {
  expect(nextBar(key, at, 4)).toBe(next);
});
