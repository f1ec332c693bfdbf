import { type ReactNode, useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { parseRequestName, REQUEST_ID_FORMS } from '#contracts/rules/request-id.js';
import type { Permission } from '../../../src/shapes/identity.js';
import { useSession } from '../data/session.js';
import { Button, IconButton } from '../parts/button.js';
import { Dialog, DialogActions } from '../parts/dialog.js';
import { TextField } from '../parts/field.js';
import { Icon, type IconName, Mark } from '../parts/icon.js';
import { AccountSwitcher } from './account-switcher.js';
import { PersonMenu } from './person-menu.js';
import styles from './shell.module.css';

interface Entry {
  page: string;
  name: string;
  icon: IconName;
  permission: Permission;
}

const OF_ACCOUNT: Entry[] = [
  { page: 'overview', name: 'Overview', icon: 'overview', permission: 'usage.read' },
  { page: 'usage', name: 'Usage', icon: 'usage', permission: 'usage.read' },
  { page: 'requests', name: 'Requests', icon: 'requests', permission: 'requests.read' },
];
/** Pages that need one account. */
const OF_ONE: Entry[] = [
  { page: 'projects', name: 'Projects', icon: 'projects', permission: 'usage.read' },
  { page: 'keys', name: 'Keys', icon: 'keys', permission: 'usage.read' },
  { page: 'playground', name: 'Playground', icon: 'playground', permission: 'playground' },
  { page: 'budgets', name: 'Budgets', icon: 'budgets', permission: 'usage.read' },
  { page: 'money', name: 'Money', icon: 'money', permission: 'money.read' },
];
const OF_PEOPLE: Entry[] = [
  { page: 'members', name: 'Members', icon: 'members', permission: 'members.read' },
  { page: 'audit', name: 'Audit', icon: 'audit', permission: 'audit.read' },
];
const OF_PLATFORM: Entry[] = [
  { page: 'accounts', name: 'Accounts', icon: 'accounts', permission: 'accounts' },
  { page: 'upstreams', name: 'Upstreams', icon: 'upstreams', permission: 'upstreams.read' },
  { page: 'margin', name: 'Margin', icon: 'money', permission: 'ledger.read' },
  { page: 'ledger', name: 'Ledger', icon: 'ledger', permission: 'ledger.read' },
];
const MODELS: Entry = { page: 'models', name: 'Models', icon: 'models', permission: 'models.read' };

/** Navigation and frame of every page of a signed-in person. */
export function Shell({ children }: { children: ReactNode }) {
  const [path] = useLocation();
  const [isOpen, setOpen] = useState(false);
  const [isFinding, setFinding] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the navigation of narrow screens.
  useEffect(() => setOpen(false), [path]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select, dialog');
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
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
        <IconButton icon="search" label="Find a request" onClick={() => setFinding(true)} />
      </header>
      <aside className={styles.side} data-open={isOpen || undefined}>
        <div className={styles.column}>
          <div className={styles.brandRow}>
            <Brand />
          </div>
          <AccountSwitcher />
          <Button className={styles.find} icon="search" onClick={() => setFinding(true)}>
            Find a request <kbd className={styles.key}>/</kbd>
          </Button>
          <Navigation />
          <PersonMenu />
        </div>
      </aside>
      {isOpen && <button type="button" className={styles.shade} aria-label="Close the navigation" onClick={() => setOpen(false)} />}
      <div className={styles.content}>{children}</div>
      {isFinding && <FindRequest onClose={() => setFinding(false)} />}
    </div>
  );
}

function Navigation() {
  const { account, may, mayOnPlatform } = useSession();
  const ofOne = account === 'all' ? [] : OF_ONE;
  const groups = [
    { name: 'Traffic', entries: OF_ACCOUNT.filter(({ permission }) => may(permission)) },
    { name: 'Account', entries: [...ofOne, ...OF_PEOPLE].filter(({ permission }) => may(permission)) },
    { name: 'Platform', entries: [MODELS, ...OF_PLATFORM.filter(({ permission }) => mayOnPlatform(permission))] },
  ];
  return (
    <nav className={styles.navigation} aria-label="Pages">
      {groups.map(({ name, entries }) => (
        <div key={name}>
          <h2 className={styles.group}>{name}</h2>
          <ul>
            {entries.map((entry) => (
              <li key={entry.page}>
                <NavigationLink {...entry} />
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function NavigationLink({ page, name, icon }: Entry) {
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

/** Opens a request by its id, from anywhere with the key `/`. */
function FindRequest({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState('');
  const [fault, setFault] = useState<string>();
  const [, navigate] = useLocation();
  return (
    <Dialog title="Find a request" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const name = parseRequestName(id);
          if (!name) return setFault(REQUEST_ID_FORMS);
          navigate(`/requests/${name.uuid ?? name.requestId}`);
          onClose();
        }}
      >
        <TextField
          label="Request id"
          hint="The id of a request, of its reply (chatcmpl-…, resp_…, msg_…), hold or trace."
          fault={fault}
          value={id}
          onText={(text) => {
            setId(text);
            setFault(undefined);
          }}
          autoComplete="off"
          spellCheck={false}
          required
        />
        <DialogActions>
          <Button type="submit" look="primary">
            Open
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
