import { type ReactNode, useEffect } from 'react';
import styles from './page.module.css';

interface PageProps {
  title: string;
  about?: ReactNode;
  actions?: ReactNode;
  /** True while the page waits for data and shows nothing in its place. */
  busy?: boolean;
  children: ReactNode;
}

/** Title, actions and content of a page. The title is also that of the browser's tab. */
export function Page({ title, about, actions, busy, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Tollgate`;
  }, [title]);
  return (
    <main id="main" className={styles.page} tabIndex={-1} aria-busy={busy || undefined}>
      <header className={styles.head}>
        <div className={styles.titles}>
          <h1>{title}</h1>
          {about && <p className={styles.about}>{about}</p>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </header>
      {children}
    </main>
  );
}

/** Cards side by side; below one another where they would be narrow. */
export function Columns({ children }: { children: ReactNode }) {
  return <div className={styles.columns}>{children}</div>;
}
