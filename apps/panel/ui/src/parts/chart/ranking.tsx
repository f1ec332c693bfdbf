import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Skeleton } from '../page.js';
import styles from './ranking.module.css';
import { ratio } from './series.js';

export interface Ranked {
  id: string;
  name: ReactNode;
  value: bigint;
  text: ReactNode;
  /** Beside the value, fainter. */
  more?: ReactNode;
  href?: string;
}

/** The largest first, each with a bar of its share of the largest. */
export function Ranking({ rows, empty }: { rows: Ranked[] | undefined; empty: ReactNode }) {
  if (rows?.length === 0) return <p className={styles.empty}>{empty}</p>;
  const max = rows?.reduce((most, { value }) => (value > most ? value : most), 0n) ?? 0n;
  return (
    <ol className={styles.ranking}>
      {rows
        ? rows.map(({ id, name, value, text, more, href }) => (
            <li key={id}>
              <span className={styles.name}>{href ? <Link to={href}>{name}</Link> : name}</span>
              <span className={styles.more}>{more}</span>
              <span className={styles.value}>{text}</span>
              <svg className={styles.bar} aria-hidden="true">
                <rect width="100%" height="4" rx="2" />
                <rect className={styles.share} width={`${ratio(value > 0n ? value : 0n, max) * 100}%`} height="4" rx="2" />
              </svg>
            </li>
          ))
        : [0, 1, 2].map((at) => (
            <li key={at}>
              <Skeleton width="8rem" />
            </li>
          ))}
    </ol>
  );
}
