import { useMemo } from 'react';
import type { AccountListReply, AccountRow, KeyRow, Project } from '../../../../src/shapes/billing.js';
import type { CatalogModel, ModelListReply } from '../../../../src/shapes/catalog.js';
import type { Member, MemberListReply } from '../../../../src/shapes/identity.js';
import { useApi, withQuery } from '../../data/api.js';
import { writeFilters } from '../../data/filters.js';
import { type PanelSession, ROWS_MAX, useNames, useSession } from '../../data/session.js';
import { count } from '../../format/numbers.js';
import { useNavigation } from '../navigation.js';
import type { Entry } from './find-entries.js';

/** Most people that the search knows, as many as a page of their list. */
const MEMBERS_MAX = 200;

interface Found {
  entries: Entry[];
  /** False while a list is still loading. */
  isComplete: boolean;
  /** Lists that are longer than what is searched, in words. */
  unsearched: string[];
}

/** Everything that the search can open: pages, and the projects, keys, accounts, models and members that the person may see. */
export function useEntries(): Found {
  const session = useSession();
  const { account, isPlatform, may } = session;
  const navigation = useNavigation();
  const { projects, keys, hasMoreKeys } = useNames();
  const models = useApi<ModelListReply>(may('models.read') ? '/models' : null);
  const accountId = account === 'all' ? undefined : account;
  const members = useApi<MemberListReply>(may('members.read') ? withQuery('/members', { accountId, limit: MEMBERS_MAX }) : null);
  // The session knows the first 200.
  const all = useApi<AccountListReply>(isPlatform ? `/accounts?limit=${ROWS_MAX}` : null);
  const entries = useMemo(
    () => [
      ...pageEntries(navigation, session),
      ...projectEntries(projects, session),
      ...keyEntries(keys, projects, session),
      ...accountEntries(all.data?.accounts ?? session.accounts, session),
      ...modelEntries(models.data?.models, session),
      ...memberEntries(members.data?.members, session),
    ],
    [navigation, session, projects, keys, all.data, models.data, members.data],
  );
  const unsearched = [
    hasMoreKeys && `keys after the first ${count(ROWS_MAX)}`,
    (projects?.length ?? 0) >= ROWS_MAX && `projects after the first ${count(ROWS_MAX)}`,
    all.data?.nextCursor && `accounts after the first ${count(ROWS_MAX)}`,
    members.data?.nextCursor && `members before the last ${MEMBERS_MAX}`,
  ].filter((words): words is string => Boolean(words));
  const isComplete = [projects, keys].every(Boolean) && ![models, members, all].some(({ isLoading }) => isLoading);
  return { entries, isComplete, unsearched };
}

function pageEntries(groups: ReturnType<typeof useNavigation>, { linkTo }: PanelSession): Entry[] {
  const ofGroup = ({ name: hint, entries }: (typeof groups)[number]) =>
    entries.map(({ page, name, icon }): Entry => ({ kind: 'Pages', id: page, name, hint, icon, href: linkTo(page) }));
  return [...groups.flatMap(ofGroup), { kind: 'Pages', id: 'profile', name: 'Profile', hint: 'You', icon: 'person', href: '/profile' }];
}

function projectEntries(projects: readonly Project[] = [], { account, accountName, linkTo }: PanelSession): Entry[] {
  return projects.map(({ projectId, name, accountId }) => ({
    ...{ kind: 'Projects', id: projectId, name, icon: 'projects', href: linkTo(`projects/${projectId}`, accountId), words: [projectId] },
    ...(account === 'all' && { hint: accountName(accountId) }),
  }));
}

function keyEntries(keys: readonly KeyRow[] = [], projects: readonly Project[] = [], { linkTo }: PanelSession): Entry[] {
  const byId = new Map(projects.map((project) => [project.projectId, project]));
  return keys.map(({ keyId, name, lastFour, projectId, note, status, createdBy }) => {
    const project = byId.get(projectId);
    return {
      ...{ kind: 'Keys', id: keyId, name: name ?? `…${lastFour}`, icon: 'keys', words: [keyId, note, createdBy] },
      hint: [project?.name, `…${lastFour}`, status !== 'active' && status].filter(Boolean).join(' · '),
      href: linkTo('keys', project?.accountId) + writeFilters({ key: keyId }),
    };
  });
}

/** The one account of a person is where they are. */
function accountEntries(accounts: readonly AccountRow[], { linkTo }: PanelSession): Entry[] {
  if (accounts.length < 2) return [];
  return accounts.map(({ accountId, name, status }) => ({
    ...{ kind: 'Accounts', id: accountId, name, icon: 'accounts', href: linkTo('overview', accountId), words: [accountId] },
    ...(status === 'frozen' && { hint: 'frozen' }),
  }));
}

function modelEntries(models: readonly CatalogModel[] = [], { linkTo }: PanelSession): Entry[] {
  return models.map(({ id, displayName }) => ({
    ...{ kind: 'Models', id, name: displayName ?? id, icon: 'models', href: linkTo(`models/${encodeURIComponent(id)}`) },
    ...(displayName && { hint: id }),
  }));
}

function memberEntries(members: readonly Member[] = [], { linkTo }: PanelSession): Entry[] {
  return members.map(({ userId, name, email }) => ({
    ...{ kind: 'Members', id: userId, name, hint: email, icon: 'members', href: linkTo('members') },
  }));
}
