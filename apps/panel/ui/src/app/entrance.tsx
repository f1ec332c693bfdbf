import { type ReactNode, useEffect, useRef } from 'react';
import { usePageFailure } from '../data/page-failure.js';
import { Mark } from '../parts/icon.js';
import { Failure } from '../parts/page.js';
import styles from './entrance.module.css';

interface EntranceProps {
  title: string;
  about?: ReactNode;
  /** True while the page opens: it is drawn a moment later, so that a fast answer causes no flicker. */
  opening?: boolean;
  children?: ReactNode;
}

/** The frame of pages without a session. */
export function Entrance({ title, about, opening, children }: EntranceProps) {
  const main = useRef<HTMLElement>(null);
  useEffect(() => main.current?.querySelector<HTMLElement>('input:not([readonly])')?.focus(), []);
  return (
    <main ref={main} className={styles.entrance} aria-busy={opening || undefined}>
      <title>{`${title} · Tollgate`}</title>
      <div className={styles.box}>
        <p className={styles.brand}>
          <Mark />
          Tollgate
        </p>
        <h1>{title}</h1>
        {about && <p className={styles.about}>{about}</p>}
        {children}
      </div>
    </main>
  );
}

/** Stands in for a page that needs its first answer before it has a frame: says that it opens, and then what failed. */
export function Opening({ title }: { title: string }) {
  const failure = usePageFailure();
  return (
    <Entrance title={title} about={failure ? undefined : 'One moment…'} opening={!failure}>
      {failure && <Failure error={failure.error} onRetry={failure.retry} />}
    </Entrance>
  );
}
