import type { Percentiles, TrafficGap } from '../../../src/shapes/overview.js';
import { plural } from '../format/numbers.js';
import { Icon } from './icon.js';
import { Moment } from './moment.js';
import { Figure } from './page.js';
import { duration } from './time.js';
import styles from './traffic.module.css';

/** Says that numbers are missing for the times in which the panel recorded nothing. Shows nothing without such a time. */
export function Gaps({ gaps }: { gaps: TrafficGap[] | undefined }) {
  const last = gaps?.at(-1);
  if (!gaps || !last) return null;
  const ms = gaps.reduce((sum, { from, to }) => sum + Date.parse(to) - Date.parse(from), 0);
  return (
    <p className={styles.gaps}>
      <Icon name="warning" />
      <span>
        The panel did not record {plural(gaps.length, 'time')}, {duration(ms)} in all: its requests are missing here. The last one was from{' '}
        <Moment at={last.from} /> to <Moment at={last.to} named />.
      </span>
    </p>
  );
}

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
