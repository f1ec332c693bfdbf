import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { isPlaygroundKey } from '#contracts/rules/playground-keys.js';
import type { AccountRow, KeyListReply, Project, ProjectListReply, ProjectPlace } from '../../../src/shapes/billing.js';
import type { MeReply, Permission } from '../../../src/shapes/identity.js';
import { useApi } from './api.js';
import { findPlace, mayIn, PlaceContext } from './place.js';

/** The signed-in person, the accounts and projects that they see and the one that the page shows. */
export interface PanelSession {
  me: MeReply;
  accounts: AccountRow[];
  /** Projects of which the person has a role. */
  projects: ProjectPlace[];
  /** Id of the account of the page, or `all` for the whole platform. */
  account: string;
  /** The project of the page, which then shows nothing else of the account. */
  project: ProjectPlace | undefined;
  /** True when the person sees every account. */
  isPlatform: boolean;
  /** True when the person has the permission in the place of the page. */
  may: (permission: Permission) => boolean;
  /** As `may`, on the whole platform. */
  mayOnPlatform: (permission: Permission) => boolean;
  /** Address of a page in the same place, or in another account or project. */
  linkTo: (page: string, other?: string) => string;
  accountName: (accountId: string) => string;
}

const Context = createContext<PanelSession | null>(null);

interface SessionProps {
  me: MeReply;
  accounts: AccountRow[];
  projects: ProjectPlace[];
  children: ReactNode;
}

export function SessionProvider({ me, accounts, projects, children }: SessionProps) {
  const [path] = useLocation();
  const inAddress = /^\/a\/([^/]+)/.exec(path)?.[1];
  // Pages of no account keep the navigation of the last one.
  const [last, setLast] = useState(inAddress);
  useEffect(() => {
    if (inAddress) setLast(inAddress);
  }, [inAddress]);
  const named = inAddress ?? last;
  const value = useMemo<PanelSession>(() => {
    const isPlatform = me.grants.some(({ accountId }) => accountId === null);
    const first = accounts[0]?.accountId ?? projects[0]?.projectId ?? 'all';
    const id = named ?? (isPlatform && accounts.length !== 1 ? 'all' : first);
    const place = findPlace(id, projects);
    const { account } = place;
    const names = new Map([
      ...projects.map(({ accountId, accountName }) => [accountId, accountName] as const),
      ...accounts.map(({ accountId, name }) => [accountId, name] as const),
    ]);
    // Of an account that the person does not see as a whole, they see their project.
    const seen = (other: string) =>
      isPlatform || accounts.some(({ accountId }) => accountId === other)
        ? other
        : other === account
          ? id
          : (projects.find(({ accountId }) => accountId === other)?.projectId ?? other);
    return {
      me,
      accounts,
      projects,
      account,
      project: projects.find(({ projectId }) => projectId === place.project),
      isPlatform,
      may: (permission) => mayIn(me.grants, permission, account === 'all' ? null : account, place.project),
      mayOnPlatform: (permission) => mayIn(me.grants, permission, null),
      linkTo: (page, other) => `/a/${other === undefined ? id : seen(other)}/${page}`,
      accountName: (accountId) => names.get(accountId) ?? accountId.slice(0, 8),
    };
  }, [me, accounts, projects, named]);
  return (
    <Context value={value}>
      <PlaceContext value={{ account: value.account, project: value.project?.projectId }}>{children}</PlaceContext>
    </Context>
  );
}

export function useSession(): PanelSession {
  const session = use(Context);
  if (!session) throw new Error('useSession outside SessionProvider');
  return session;
}

/** Most projects and keys that the pages load. */
export const ROWS_MAX = 1_000;

/**
 * Projects and keys of an account, by default that of the page, and the names of their ids. Two calls, which the pages share. Keys of the
 * playground are apart: they have one name, and are no choice.
 */
export function useNames(of?: string) {
  const { account: ofPage, accountName } = useSession();
  const account = of ?? ofPage;
  const projects = useApi<ProjectListReply>(`/accounts/${account}/projects?limit=${ROWS_MAX}`);
  const keys = useApi<KeyListReply>(`/accounts/${account}/keys?limit=${ROWS_MAX}`);
  const projectName = useCallback(
    (id: string) => projects.data?.projects.find(({ projectId }) => projectId === id)?.name ?? shortId(id),
    [projects.data],
  );
  const keyName = useCallback(
    (id: string) => {
      const key = keys.data?.keys.find(({ keyId }) => keyId === id);
      return key ? (key.name ?? `…${key.lastFour}`) : shortId(id);
    },
    [keys.data],
  );
  const split = useMemo(() => Object.groupBy(keys.data?.keys ?? [], (key) => (isPlaygroundKey(key) ? 'ofPlayground' : 'own')), [keys.data]);
  return {
    projects: projects.data?.projects,
    keys: keys.data && (split.own ?? []),
    playgroundKeys: keys.data && (split.ofPlayground ?? []),
    /** True: there are more than the page loads. */
    hasMoreProjects: projects.data?.nextCursor != null,
    hasMoreKeys: keys.data?.nextCursor != null,
    projectName,
    keyName,
    accountName,
  };
}

/** The options of a choice between projects. */
export function listProjects(projects: readonly Project[]): [projectId: string, name: string][] {
  return projects.map(({ projectId, name }) => [projectId, name]);
}

/** The end of an id: the start of a UUID v7 is its time, which neighbours share. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id;
}
