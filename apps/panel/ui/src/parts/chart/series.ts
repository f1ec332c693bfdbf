import type { Colour } from '../../data/outcomes.js';

/** Series that a chart shows by name; the others are added up. */
const SERIES_MAX = 6;
const COLOURS = 7;

interface Series {
  /** Empty for the sum of the others. */
  id: string;
  colour: Colour;
}

export interface Bar {
  /** Start of the hour or day, milliseconds. */
  at: number;
  /** One value for each series, in their order. */
  values: bigint[];
  total: bigint;
}

export interface Stack {
  series: Series[];
  bars: Bar[];
  max: bigint;
}

/** Returns one bar for each step from `from` to `to`, empty ones included, and one series for each id, the largest first. */
export function stackSeries<Row extends { start?: string }>(options: {
  rows: Row[];
  readId: (row: Row) => string;
  measure: (row: Row) => bigint;
  from: number;
  to: number;
  stepMs: number;
  /** Colours of the named series. Default: `assignColours`, or the first one for a single series. */
  coloursFor?: ((ids: string[]) => Map<string, Colour>) | undefined;
}): Stack {
  const { rows, readId, measure, from, to, stepMs, coloursFor = defaultColours } = options;
  const totals = new Map<string, bigint>();
  for (const row of rows) totals.set(readId(row), (totals.get(readId(row)) ?? 0n) + measure(row));
  const ids = [...totals.keys()].sort((a, b) => compare(totals.get(b) ?? 0n, totals.get(a) ?? 0n) || a.localeCompare(b));
  const named = ids.slice(0, SERIES_MAX);
  // Only of the named: the others have no colour, and there are more of them than colours.
  const colours = coloursFor(named);
  const series: Series[] = named.map((id) => ({ id, colour: colours.get(id) ?? 'rest' }));
  if (ids.length > named.length) series.push({ id: '', colour: 'rest' });
  const positions = new Map(named.map((id, at) => [id, at]));
  const start = Math.floor(from / stepMs) * stepMs;
  const bars: Bar[] = [];
  for (let at = start; at < to; at += stepMs) bars.push({ at, values: series.map(() => 0n), total: 0n });
  for (const row of rows) {
    const bar = bars[Math.floor((Date.parse(row.start ?? '') - start) / stepMs)];
    if (!bar) continue;
    const position = positions.get(readId(row)) ?? named.length;
    bar.values[position] = (bar.values[position] ?? 0n) + measure(row);
    bar.total += measure(row);
  }
  return { series, bars, max: bars.reduce((max, { total }) => (total > max ? total : max), 0n) };
}

function defaultColours(ids: string[]): Map<string, Colour> {
  return ids.length > 1 ? assignColours(ids) : new Map(ids.map((id) => [id, 0]));
}

/** The colour of each id. It follows from the id; of two that want the same one, the second in alphabetical order takes the next. */
export function assignColours(ids: string[]): Map<string, number> {
  const taken = new Set<number>();
  const colours = new Map<string, number>();
  for (const id of [...ids].sort()) {
    let colour = hash(id) % COLOURS;
    for (let tries = 0; taken.has(colour) && tries < COLOURS; tries++) colour = (colour + 1) % COLOURS;
    taken.add(colour);
    colours.set(id, colour);
  }
  return colours;
}

/** The edges of each drawn part of a bar, from 0 to 1 of `max`, from the bottom up. Corrections below zero are not drawn. */
export function stackParts(bar: Bar, max: bigint): { series: number; from: number; to: number }[] {
  let sum = 0n;
  return bar.values.flatMap((value, series) => {
    if (value <= 0n || max <= 0n) return [];
    const from = sum;
    sum += value;
    return [{ series, from: ratio(from, max), to: ratio(sum, max) }];
  });
}

/** Round values for the axis: at most `count` above zero, the last at or above `max`. */
export function chooseTicks(max: bigint, count = 4): bigint[] {
  if (max <= 0n) return [0n];
  let step = 1n;
  for (let at = 0; step * BigInt(count) < max; at++) step = 10n ** BigInt(Math.floor(at / 3)) * ([1n, 2n, 5n][at % 3] ?? 1n);
  const ticks = [0n];
  while ((ticks.at(-1) ?? 0n) < max) ticks.push((ticks.at(-1) ?? 0n) + step);
  return ticks;
}

/** The bar that a key moves the focus to, from the bar `at`. Undefined: the key moves nothing. The ends are no circle. */
export function nextBar(key: string, at: number, bars: number): number | undefined {
  if (at < 0) return undefined;
  const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: bars - 1 }[key];
  return next === undefined ? undefined : Math.max(0, Math.min(next, bars - 1));
}

export function ratio(value: bigint, max: bigint): number {
  return max > 0n ? Number((value * 1_000_000n) / max) / 1_000_000 : 0;
}

function hash(text: string): number {
  let sum = 7;
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return sum;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
