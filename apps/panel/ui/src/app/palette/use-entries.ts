import { isPlaygroundKey } from '#contracts/rules/playground-keys.js';
import type { AccountListReply, AccountRow, KeyListReply, KeyRow, Project, ProjectListReply } from '../../../../src/shapes/billing.js';
import type { CatalogModel, ModelListReply } from '../../../../src/shapes/catalog.js';
import type { Member, MemberListReply } from '../../../../src/shapes/identity.js';
import { useApi, withQuery } from '../../data/api.js';
import { useDebounced } from '../../data/debounce.js';
import { writeFilters } from '../../data/filters.js';
import { mergeRows } from '../../data/merge-rows.js';
import { type PanelSession, ROWS_MAX, useNames, useSession } from '../../data/session.js';
import { useNavigation } from '../navigation.js';
import type { Entry } from './find-entries.js';

/** People that are loaded, as many as a page of their list. */
const MEMBERS_MAX = 200;

/** Rows that a search of one list returns. */
const FOUND_MAX = 50;

interface Found {
  entries: Entry[];
  /** False while a list is still loading, or searched. */
  isComplete: boolean;
  /** Lists in which more than the search returns has the text, in words. */
  more: string[];
}

/**
 * Everything that the search can open: pages, and the projects, keys, accounts, models and members that the person may see. Of lists that are
 * longer than what the pages load, the services search the rest.
 */
export function useEntries(text: string): Found {
  const session = useSession();
  const { account, isPlatform, may } = session;
  const navigation = useNavigation();
  const names = useNames();
  const models = useApi<ModelListReply>(may('models.read') ? '/models' : null);
  const accountId = account === 'all' ? undefined : account;
  const members = useApi<MemberListReply>(may('members.read') ? withQuery('/members', { accountId, limit: MEMBERS_MAX }) : null);
  // The session knows the first 200.
  const accounts = useApi<AccountListReply>(isPlatform ? `/accounts?limit=${ROWS_MAX}` : null);

  const search = text.trim();
  const asked = useDebounced(search);
  const find = (path: string, isLong: boolean, more = {}) =>
    isLong && asked !== '' ? withQuery(path, { ...more, search: asked, limit: FOUND_MAX }) : null;
  const isLong = {
    projects: names.hasMoreProjects,
    keys: names.hasMoreKeys,
    accounts: Boolean(accounts.data?.nextCursor),
    members: Boolean(members.data?.nextCursor),
  };
  const found = {
    projects: useApi<ProjectListReply>(find(`/accounts/${account}/projects`, isLong.projects)),
    keys: useApi<KeyListReply>(find(`/accounts/${account}/keys`, isLong.keys)),
    accounts: useApi<AccountListReply>(find('/accounts', isLong.accounts)),
    members: useApi<MemberListReply>(find('/members', isLong.members, { accountId })),
  };
  const projects = mergeRows(names.projects, found.projects.data?.projects, ({ projectId }) => projectId);
  const keys = mergeRows(
    names.keys,
    found.keys.data?.keys.filter((key) => !isPlaygroundKey(key)),
    ({ keyId }) => keyId,
  );
  const allAccounts = mergeRows(accounts.data?.accounts ?? session.accounts, found.accounts.data?.accounts, (one) => one.accountId);
  const people = mergeRows(members.data?.members, found.members.data?.members, ({ userId }) => userId);
  const entries = [
    ...pageEntries(navigation, session),
    ...projectEntries(projects, session),
    ...keyEntries(keys, projects, session),
    ...accountEntries(allAccounts ?? [], session),
    ...modelEntries(models.data?.models, session),
    ...memberEntries(people, session),
  ];
  const isSearching = Object.values(isLong).includes(true) && search !== asked;
  const isLoading = [models, members, accounts].some((list) => list.isLoading) || Object.values(found).some((list) => list.isFetching);
  return {
    entries,
    isComplete: [names.projects, names.keys].every(Boolean) && !isSearching && !isLoading,
    more: Object.entries(found).flatMap(([name, { data }]) => (asked !== '' && data?.nextCursor ? [name] : [])),
  };
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
