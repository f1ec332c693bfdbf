import type { ReactNode } from 'react';
import styles from './managed.module.css';

/** Warns before a change of what a tenants file owns. It is no refusal: an operator may have to act at once. */
export function ManagedNote({ by }: { by: string }) {
  return (
    <p role="note" className={styles.note}>
      Managed by <strong>{by}</strong>. Change it there too: the next apply of that file takes back what differs.
    </p>
  );
}

/** The second line of a row, with the owner of the thing. */
export function WithOwner({ by, children }: { by: string | undefined; children?: ReactNode }) {
  if (by === undefined) return children;
  return (
    <span className={styles.owned}>
      {children}
      {children !== undefined && children !== '' && ' · '}
      <span title="A tenants file owns it: tollgate apply">managed by {by}</span>
    </span>
  );
}
