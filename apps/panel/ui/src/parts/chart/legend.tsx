import { Skeleton } from '../card.js';
import styles from './legend.module.css';
import type { Bar } from './series.js';
import type { StackChartProps } from './stack-chart-props.js';

/** Names and colours of the series with their values: of `bar`, or of the whole time. */
export function Legend({ stack, formatName, format, formatMoment, bar }: StackChartProps & { bar: Bar | undefined }) {
  const total = bar?.total ?? stack?.bars.reduce((sum, { total }) => sum + total, 0n);
  return (
    <ul className={styles.legend}>
      <li className={styles.total}>
        <span className={styles.name}>{bar ? formatMoment(bar.at) : 'Total'}</span>
        <span className={styles.value}>{total === undefined ? <Skeleton width="4rem" /> : format(total)}</span>
      </li>
      {(stack?.series.length ?? 0) > 1 &&
        stack?.series.map(({ id, colour }, at) => (
          <li key={id} data-series={colour}>
            <span className={styles.name}>{id ? formatName(id) : 'Others'}</span>
            <span className={styles.value}>
              {format(bar ? (bar.values[at] ?? 0n) : stack.bars.reduce((sum, { values }) => sum + (values[at] ?? 0n), 0n))}
            </span>
          </li>
        ))}
    </ul>
  );
}
