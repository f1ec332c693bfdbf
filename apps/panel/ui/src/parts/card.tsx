import type { ReactNode } from 'react';
import styles from './card.module.css';
import { classNames } from './class-names.js';

/** A titled surface. `flush`: a table that reaches the edges. */
export function Card({
  title,
  note,
  actions,
  flush,
  children,
}: {
  title?: string;
  note?: ReactNode;
  actions?: ReactNode;
  flush?: boolean;
  children: ReactNode;
}) {
  return (
    <section className={classNames(styles.card, flush && styles.flush)}>
      {(title || actions) && (
        <header className={styles.head}>
          <div className={styles.titles}>
            {title && <h2>{title}</h2>}
            {note && <p className={styles.note}>{note}</p>}
          </div>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

/** Figures side by side, of equal width. */
export function Figures({ children }: { children: ReactNode }) {
  return <dl className={styles.figures}>{children}</dl>;
}

/** One number with its name and a line of context. The value keeps its height while it loads. */
export function Figure({ label, children, note, big }: { label: ReactNode; children: ReactNode; note?: ReactNode; big?: boolean }) {
  return (
    <div className={styles.figure}>
      <dt>{label}</dt>
      <dd className={big ? styles.big : styles.value}>{children ?? <Skeleton width="6rem" />}</dd>
      {note !== undefined && <dd className={styles.context}>{note ?? <Skeleton width="8rem" />}</dd>}
    </div>
  );
}

const WIDTHS = { '2rem': styles.w2, '4rem': styles.w4, '6rem': styles.w6, '8rem': styles.w8 };

/** Stands in for a text that loads, in its height. */
export function Skeleton({ width = '6rem' }: { width?: keyof typeof WIDTHS }) {
  return <span className={classNames(styles.skeleton, WIDTHS[width])} aria-hidden="true" />;
}
