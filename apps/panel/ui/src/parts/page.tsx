import { type ReactNode, useEffect } from 'react';
import { usePageFailure } from '../data/page-failure.js';
import { Card, Figure, Figures, Skeleton } from './card.js';
import { Failure } from './failure.js';
import styles from './page.module.css';

interface PageProps {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  /** True while the page waits for data that decides what it shows: a skeleton stands in for its content. */
  busy?: boolean;
  children?: ReactNode;
}

/** Title, actions and content of a page, and what failed of its calls; the title is also that of the browser's tab. */
export function Page({ title, about, actions, busy, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Tollgate`;
  }, [title]);
  const failure = usePageFailure();
  return (
    <main id="main" className={styles.page} tabIndex={-1} aria-busy={(busy && !failure) || undefined} data-failed={failure && ''}>
      <header className={styles.head}>
        <div className={styles.titles}>
          <h1>{title}</h1>
          {about && <p className={styles.about}>{about}</p>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {failure && <Failure error={failure.error} onRetry={failure.retry} />}
      {busy ? !failure && <PageSkeleton /> : children}
    </main>
  );
}

const TILES = ['first', 'second', 'third', 'fourth'];

/** Stands in for the content of a page whose form follows from its data. */
function PageSkeleton() {
  return (
    <>
      <Figures>
        {TILES.map((tile) => (
          <Figure key={tile} label={<Skeleton width="4rem" />} note={null}>
            {undefined}
          </Figure>
        ))}
      </Figures>
      <Card>
        <div className={styles.blank}>
          <Skeleton width="8rem" />
        </div>
      </Card>
    </>
  );
}

/** Cards side by side; below one another where they would be narrow. */
export function Columns({ children }: { children: ReactNode }) {
  return <div className={styles.columns}>{children}</div>;
}
