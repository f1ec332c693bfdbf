import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { loadPage } from '../data/load-page.js';
import { useSession } from '../data/session.js';
import { Button, IconButton } from '../parts/button.js';
import { Icon, Mark } from '../parts/icon.js';
import { AccountSwitcher } from './account-switcher.js';
import { type NavigationEntry, useNavigation } from './navigation.js';
import { PersonMenu } from './person-menu.js';
import styles from './shell.module.css';

/** Loaded when it is first opened. */
const Palette = lazy(async () => ({ default: (await loadPage(() => import('./palette/palette.js'))).Palette }));

/** Keys that open the search, as the person's keyboard has them. */
const SHORTCUT = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘K' : 'Ctrl K';

/** Navigation and frame of every page of a signed-in person. */
export function Shell({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const [isFinding, setFinding] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the navigation of narrow screens.
  useEffect(() => setOpen(false), [path]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!opensSearch(event) || document.querySelector('dialog[open]')) return;
      event.preventDefault();
      setFinding(true);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#main">
        Skip to the content
      </a>
      <header className={styles.bar}>
        <IconButton icon="menu" label="Navigation" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)} />
        <Brand />
        <IconButton icon="search" label="Search" onClick={() => setFinding(true)} />
      </header>
      <aside className={styles.side} data-open={isOpen || undefined}>
        <div className={styles.column}>
          <div className={styles.brandRow}>
            <Brand />
          </div>
          <AccountSwitcher />
          <Button className={styles.find} icon="search" onClick={() => setFinding(true)}>
            Search <kbd className={styles.key}>{SHORTCUT}</kbd>
          </Button>
          <Navigation />
          <PersonMenu />
        </div>
      </aside>
      {isOpen && <button type="button" className={styles.shade} aria-label="Close the navigation" onClick={() => setOpen(false)} />}
      <div className={styles.content}>{children}</div>
      {isFinding && (
        <Suspense>
          <Palette onClose={() => setFinding(false)} />
        </Suspense>
      )}
    </div>
  );
}

/** Ctrl or ⌘ with K, from anywhere; `/` outside of fields. */
function opensSearch({ key, target, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  if (key.toLowerCase() === 'k') return (ctrlKey || metaKey) && !altKey && !shiftKey;
  const isTyping = target instanceof Element && target.closest('input, textarea, select');
  return key === '/' && !isTyping && !ctrlKey && !metaKey && !altKey;
}

function Navigation() {
  const groups = useNavigation();
  return (
    <nav className={styles.navigation} aria-label="Pages">
      {groups.map(({ name, note, entries }) => (
        <div key={name}>
          <h2 className={styles.group}>{name}</h2>
          <ul>
            {entries.map((entry) => (
              <li key={entry.page}>
                <NavigationLink {...entry} />
              </li>
            ))}
          </ul>
          {note && <p className={styles.note}>{note}</p>}
        </div>
      ))}
    </nav>
  );
}

function NavigationLink({ page, name, icon }: NavigationEntry) {
  const { linkTo } = useSession();
  const [path] = useLocation();
  const href = linkTo(page);
  // The page of one thing belongs to its list.
  const isCurrent = path === href || path.startsWith(`${href}/`) || (page === 'requests' && path.startsWith('/requests/'));
  return (
    <Link to={href} className={styles.link} aria-current={isCurrent ? 'page' : undefined}>
      <Icon name={icon} />
      {name}
    </Link>
  );
}

function Brand() {
  return (
    <Link to="/" className={styles.brand}>
      <Mark />
      Tollgate
    </Link>
  );
}
