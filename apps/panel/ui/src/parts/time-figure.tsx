import type { Percentiles } from '../../../src/shapes/traffic.js';
import { Figure } from './page.js';
import { duration } from './time.js';

interface TimeFigureProps {
  label: string;
  /** Undefined while it loads, null when there are none. */
  percentiles: Percentiles | null | undefined;
  /** The note when there are none. */
  none: string;
}

/** The 95th percentile of a time, with two others below it. */
export function TimeFigure({ label, percentiles, none }: TimeFigureProps) {
  return (
    <Figure label={`${label}, p95`} note={renderNote(percentiles, none)}>
      {percentiles === undefined ? undefined : percentiles ? duration(percentiles.p95) : '–'}
    </Figure>
  );
}

function renderNote(percentiles: Percentiles | null | undefined, none: string): string | null {
  if (percentiles === undefined) return null;
  return percentiles ? `p50 ${duration(percentiles.p50)}, p99 ${duration(percentiles.p99)}` : none;
}
