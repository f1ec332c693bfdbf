import type { Percentiles } from '../../../src/api/shapes/traffic.js';
import { Figure } from './card.js';
import { duration } from './time.js';

/** The 95th percentile of a time, with two others below it. `percentiles` is undefined while it loads. */
export function TimeFigure({ label, percentiles }: { label: string; percentiles: Percentiles | null | undefined }) {
  return (
    <Figure label={`${label}, p95`} note={noteOf(percentiles)}>
      {percentiles === undefined ? undefined : percentiles ? duration(percentiles.p95) : '–'}
    </Figure>
  );
}

function noteOf(percentiles: Percentiles | null | undefined): string | null {
  if (percentiles === undefined) return null;
  return percentiles ? `p50 ${duration(percentiles.p50)}, p99 ${duration(percentiles.p99)}` : 'none completed';
}
