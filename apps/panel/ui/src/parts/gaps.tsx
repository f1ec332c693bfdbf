import type { TrafficGap } from '../../../src/shapes/traffic.js';
import { plural } from '../format/numbers.js';
import styles from './gaps.module.css';
import { Icon } from './icon.js';
import { Moment } from './moment.js';
import { duration } from './time.js';

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
        <Moment at={last.from} /> to <Moment at={last.to} />.
      </span>
    </p>
  );
}
