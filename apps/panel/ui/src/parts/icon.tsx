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
  | 'models'
  | 'upstreams'
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
