import { createContext, type ReactNode, use, useEffect, useMemo, useState } from 'react';
import { useLocation } from 'wouter';
import type { AccountRow } from '../../../src/shapes/accounts.js';
import type { MeReply, Permission } from '../../../src/shapes/identity.js';

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
