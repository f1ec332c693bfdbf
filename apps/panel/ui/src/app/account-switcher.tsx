import { lazy, Suspense } from 'react';
import { useLocation } from 'wouter';
import { loadPage } from '../data/load-page.js';
import { useSession } from '../data/session.js';
import type { Choice } from './account-choices.js';
import styles from './account-switcher.module.css';

/** A file of its own, since most people have one account and its list is a fifth of all script. */
const AccountChoices = lazy(async () => ({ default: (await loadPage(() => import('./account-choices.js'))).AccountChoices }));

const ALL: Choice = { value: 'all', label: 'All accounts' };

/** Chooses the account of the pages, or a project of the person; for people of the platform also all accounts. The page stays the same. */
export function AccountSwitcher() {
  const { account, accounts, project, projects, isPlatform, linkTo } = useSession();
  const [path, navigate] = useLocation();
  const choices = [
    ...(isPlatform ? [ALL] : []),
    ...accounts.map(({ accountId, name }) => ({ value: accountId, label: name })),
    ...projects.map(({ projectId, name, accountName }) => ({ value: projectId, label: `${name} · ${accountName}` })),
  ];
  const chosen = choices.find(({ value }) => value === (project?.projectId ?? account)) ?? null;
  const page = /^\/a\/[^/]+\/(\w+)/.exec(path)?.[1] ?? 'overview';
  if (choices.length < 2) return <p className={styles.single}>{chosen?.label}</p>;
  return (
    <Suspense fallback={<span className={styles.trigger}>{chosen?.label}</span>}>
      <AccountChoices choices={choices} chosen={chosen} onChoose={(choice) => navigate(linkTo(ofEvery(page, choice), choice.value))} />
    </Suspense>
  );
}

/** Pages of one account have none for all accounts. */
function ofEvery(page: string, { value }: Choice): string {
  return value === 'all' && ['projects', 'keys', 'budgets', 'money'].includes(page) ? 'overview' : page;
}
