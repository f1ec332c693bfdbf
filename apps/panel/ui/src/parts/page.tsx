import { type ReactNode, useEffect } from 'react';
import { Link } from 'wouter';
import { ApiError, isTransient } from '../data/api.js';
import { usePageFailure } from '../data/page-failure.js';
import { Button } from './button.js';
import cardStyles from './card.module.css';
import { classNames } from './class-names.js';
import emptyStyles from './empty.module.css';
import failureStyles from './failure.module.css';
import { Icon, type IconName } from './icon.js';
import styles from './page.module.css';

interface PageProps {
  title: string;
  /** The page that lists what this page shows one of. Its name is in the tab's title too. */
  parent?: { name: string; href: string };
  /** Name of the page in the tab's title, where its title is another. */
  tab?: string;
  about?: ReactNode;
  actions?: ReactNode;
  /** True while the page waits for data that decides what it shows: a skeleton stands in for its content. */
  busy?: boolean;
  children?: ReactNode;
}

/** Title, actions and content of a page, and what failed of its calls; the title is also that of the browser's tab. */
export function Page({ title, parent, tab, about, actions, busy, children }: PageProps) {
  const tabTitle = [tab, title, parent?.name, 'Tollgate'].filter(Boolean).join(' · ');
  useEffect(() => {
    document.title = tabTitle;
  }, [tabTitle]);
  const failure = usePageFailure();
  return (
    <main id="main" className={styles.page} tabIndex={-1} aria-busy={(busy && !failure) || undefined} data-failed={failure && ''}>
      <header className={styles.head}>
        <div className={styles.titles}>
          {parent && (
            <p className={styles.parent}>
              <Link to={parent.href}>{parent.name}</Link>
            </p>
          )}
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
    <section className={classNames(cardStyles.card, flush && cardStyles.flush)}>
      {(title || actions) && (
        <header className={cardStyles.head}>
          <div className={cardStyles.titles}>
            {title && <h2>{title}</h2>}
            {note && <p className={cardStyles.note}>{note}</p>}
          </div>
          {actions && <div className={styles.actions}>{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** Figures side by side, of equal width. */
export function Figures({ children }: { children: ReactNode }) {
  return <dl className={cardStyles.figures}>{children}</dl>;
}

/** One number with its name and a line of context. The value keeps its height while it loads. */
export function Figure({ label, children, note, big }: { label: ReactNode; children: ReactNode; note?: ReactNode; big?: boolean }) {
  return (
    <div className={cardStyles.figure}>
      <dt>{label}</dt>
      <dd className={big ? cardStyles.big : cardStyles.value}>{children ?? <Skeleton width="6rem" />}</dd>
      {note !== undefined && <dd className={cardStyles.context}>{note ?? <Skeleton width="8rem" />}</dd>}
    </div>
  );
}

/** Stands in for a text that loads, in its height. */
export function Skeleton({ width = '6rem' }: { width?: '4rem' | '6rem' | '8rem' }) {
  return <span className={cardStyles.skeleton} style={{ width }} aria-hidden="true" />;
}

/** One row of a `dl`. */
export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A page or table without content: says what is missing and what to do next. */
export function Empty({ icon, title, text, children }: { icon: IconName; title: string; text?: string; children?: ReactNode }) {
  return (
    <div className={emptyStyles.empty}>
      <span className={emptyStyles.icon}>
        <Icon name={icon} />
      </span>
      <h2>{title}</h2>
      {text && <p>{text}</p>}
      {children}
    </div>
  );
}

/** An error in place of what could not be loaded or done, with the id that finds the call in the log. */
export function Failure({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { message, requestId } = error instanceof ApiError ? error : { message: 'The page met a fault of its own.', requestId: null };
  return (
    <div role="alert" className={failureStyles.failure}>
      <Icon name="warning" />
      <div className={failureStyles.text}>
        <p>{onRetry && isTransient(error) ? `${message} Trying again.` : message}</p>
        {requestId && (
          <p className={failureStyles.id}>
            Request id <code>{requestId}</code>
          </p>
        )}
      </div>
      {onRetry && (
        <Button look="quiet" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
