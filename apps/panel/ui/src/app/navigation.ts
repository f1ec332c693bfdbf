import { useMemo } from 'react';
import type { Permission } from '../../../src/shapes/identity.js';
import { type PanelSession, useSession } from '../data/session.js';
import type { IconName } from '../parts/icon.js';

/** A page of the navigation. */
export interface NavigationEntry {
  page: string;
  name: string;
  icon: IconName;
  permission: Permission;
}

const OF_ACCOUNT: NavigationEntry[] = [
  { page: 'overview', name: 'Overview', icon: 'overview', permission: 'usage.read' },
  { page: 'usage', name: 'Usage', icon: 'usage', permission: 'usage.read' },
  { page: 'requests', name: 'Requests', icon: 'requests', permission: 'requests.read' },
];
/** Pages that need one account. */
const OF_ONE: NavigationEntry[] = [
  { page: 'projects', name: 'Projects', icon: 'projects', permission: 'usage.read' },
  { page: 'keys', name: 'Keys', icon: 'keys', permission: 'usage.read' },
  { page: 'playground', name: 'Playground', icon: 'playground', permission: 'playground' },
  { page: 'budgets', name: 'Budgets', icon: 'budgets', permission: 'usage.read' },
  { page: 'money', name: 'Money', icon: 'money', permission: 'money.read' },
  { page: 'notifications', name: 'Notifications', icon: 'notifications', permission: 'notifications.read' },
];
const OF_PEOPLE: NavigationEntry[] = [
  { page: 'members', name: 'Members', icon: 'members', permission: 'members.read' },
  { page: 'audit', name: 'Audit', icon: 'audit', permission: 'audit.read' },
];
const OF_PLATFORM: NavigationEntry[] = [
  { page: 'accounts', name: 'Accounts', icon: 'accounts', permission: 'accounts' },
  { page: 'upstreams', name: 'Upstreams', icon: 'upstreams', permission: 'upstreams.read' },
  { page: 'services', name: 'Services', icon: 'services', permission: 'upstreams.read' },
  { page: 'margin', name: 'Margin', icon: 'money', permission: 'ledger.read' },
  { page: 'ledger', name: 'Ledger', icon: 'ledger', permission: 'ledger.read' },
];
const MODELS: NavigationEntry = { page: 'models', name: 'Models', icon: 'models', permission: 'models.read' };

/** The pages that the person may open, in the groups of the navigation. */
export function useNavigation(): NavigationGroup[] {
  const session = useSession();
  return useMemo(() => listPages(session), [session]);
}

interface NavigationGroup {
  name: string;
  /** Where the pages are that a person may look for here. */
  note?: string;
  entries: NavigationEntry[];
}

function listPages({ account, project, may, mayOnPlatform }: PanelSession): NavigationGroup[] {
  const ofOne = account === 'all' ? [] : OF_ONE;
  return [
    { name: 'Traffic', entries: OF_ACCOUNT.filter(({ permission }) => may(permission)) },
    {
      name: project ? 'Project' : 'Account',
      entries: [...ofOne, ...OF_PEOPLE].filter(({ permission }) => may(permission)),
      ...(account === 'all' && { note: 'Choose an account for its projects, keys, budgets and money.' }),
    },
    { name: 'Platform', entries: [MODELS, ...OF_PLATFORM.filter(({ permission }) => mayOnPlatform(permission))] },
  ];
}
