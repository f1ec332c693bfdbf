import styles from './icon.module.css';
import sheet from './icons.svg';

export type IconName =
  | 'overview'
  | 'usage'
  | 'requests'
  | 'projects'
  | 'keys'
  | 'playground'
  | 'budgets'
  | 'money'
  | 'notifications'
  | 'models'
  | 'upstreams'
  | 'services'
  | 'ledger'
  | 'audit'
  | 'members'
  | 'accounts'
  | 'menu'
  | 'close'
  | 'chevrons'
  | 'right'
  | 'down'
  | 'copy'
  | 'check'
  | 'warning'
  | 'plus'
  | 'download'
  | 'search'
  | 'person';

/** A drawing beside a text that says the same; screen readers skip it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className={styles.icon} aria-hidden="true">
      <use href={`${sheet}#${name}`} />
    </svg>
  );
}

/** The sign of Tollgate, beside its name. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" className={styles.mark} aria-hidden="true">
      <path d="M9 25V11M6.5 25h5M9 14.5 26 8" />
      <circle cx="9" cy="14.5" r="2.8" />
    </svg>
  );
}
