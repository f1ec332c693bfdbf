import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { Link } from 'wouter';
import { useNarrow } from '../data/place.js';
import styles from './button.module.css';
import { classNames } from './class-names.js';
import { Icon, type IconName } from './icon.js';

type Look = 'primary' | 'secondary' | 'quiet' | 'danger';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  icon?: IconName;
  /** Work is under way: the button takes no click and says so. */
  busy?: boolean;
}

export function Button({ look = 'secondary', icon, busy, children, className, disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={classNames(styles.button, styles[look], className)}
      disabled={disabled || busy}
      aria-busy={busy || undefined}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

/** Loads the next rows of a list (`usePages`), while there are some. */
export function MoreButton({ list, children }: { list: MoreRows; children: string }) {
  if (!list.hasNextPage) return null;
  return (
    <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
      {children}
    </Button>
  );
}

interface MoreRows {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

/** A button with an icon alone; `label` names it. */
export function IconButton({ icon, label, ...rest }: ButtonHTMLAttributes<HTMLButtonElement> & { icon: IconName; label: string }) {
  return (
    <button type="button" {...rest} className={classNames(styles.button, styles.quiet, styles.square)} aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  );
}

/** A link with the look of a button. `download`: the address is a file of the API, about the project of the pages if they are in one. `leaves`: it leads out of the pages. */
export function ButtonLink({
  to,
  look = 'secondary',
  icon,
  download,
  leaves,
  children,
}: {
  to: string;
  look?: Look;
  icon?: IconName;
  download?: boolean;
  leaves?: boolean;
  children: ReactNode;
}) {
  const narrow = useNarrow();
  const className = classNames(styles.button, styles[look]);
  const content = (
    <>
      {icon && <Icon name={icon} />}
      {children}
    </>
  );
  if (download || leaves) {
    return (
      <a className={className} href={download ? narrow(to) : to} download={download}>
        {content}
      </a>
    );
  }
  return (
    <Link className={className} to={to}>
      {content}
    </Link>
  );
}
