import { Link } from 'wouter';
import styles from './segments.module.css';

/** A choice of a few, each a link, so that the address has the state. */
export function Segments({
  label,
  options,
  value,
  linkTo,
}: {
  label: string;
  options: { value: string; label: string }[];
  value: string;
  linkTo: (value: string) => string;
}) {
  return (
    <nav className={styles.segments} aria-label={label}>
      {options.map((option) => (
        <Link
          key={option.value}
          to={linkTo(option.value)}
          className={styles.segment}
          aria-current={option.value === value ? 'true' : undefined}
          replace
        >
          {option.label}
        </Link>
      ))}
    </nav>
  );
}
