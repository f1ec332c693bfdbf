import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import { isPlaygroundKey } from '#contracts/rules/playground-keys.js';
import type { AccountRow, KeyListReply, Project, ProjectListReply } from '../../../src/shapes/billing.js';
import type { MeReply, Permission } from '../../../src/shapes/identity.js';
import { useApi } from './api.js';

/** The signed-in person, the accounts that they see and the one that the page shows. */
export interface PanelSession {
  me: MeReply;
  accounts: AccountRow[];
  /** Id of the account of the address, or `all` for the whole platform. */
  account: string;
  /** True when the person sees every account. */
  isPlatform: boolean;
  /** True when the person has the permission in the account of the address. */
  may: (permission: Permission) => boolean;
  /** As `may`, on the whole platform. */
  mayOnPlatform: (permission: Permission) => boolean;
  /** Address of a page of the account, or of another one. */
  linkTo: (page: string, account?: string) => string;
  accountName: (accountId: string) => string;
}

const Context = createContext<PanelSession | null>(null);

export function SessionProvider({ me, accounts, children }: { me: MeReply; accounts: AccountRow[]; children: ReactNode }) {
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
    const account = named ?? (isPlatform && accounts.length !== 1 ? 'all' : (accounts[0]?.accountId ?? 'all'));
    const mayIn = (scope: string | null, permission: Permission) =>
      me.grants.some(({ accountId, permissions }) => (accountId === null || accountId === scope) && permissions.includes(permission));
    return {
      me,
      accounts,
      account,
      isPlatform,
      may: (permission) => mayIn(account === 'all' ? null : account, permission),
      mayOnPlatform: (permission) => mayIn(null, permission),
      linkTo: (page, other = account) => `/a/${other}/${page}`,
      accountName: (accountId) => accounts.find((row) => row.accountId === accountId)?.name ?? accountId.slice(0, 8),
    };
  }, [me, accounts, named]);
  return <Context value={value}>{children}</Context>;
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
    /** True: there are more keys than the page loads. */
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
