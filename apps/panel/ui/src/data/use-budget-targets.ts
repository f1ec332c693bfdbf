import type { Budget } from '../../../src/shapes/billing.js';
import { isForEach } from './budgets.js';
import { type Group, writeFilters } from './filters.js';
import { useNames, useSession } from './session.js';

type Target = Pick<Budget, 'projectId' | 'keyId'> & Partial<Pick<Budget, 'dimension' | 'value'>>;

/** Names of what budgets are of, and the addresses of their pages or of what they spent. */
export function useBudgetTargets() {
  const { linkTo } = useSession();
  const { projectName, keyName } = useNames();
  const ownerName = ({ projectId, keyId }: Target): string =>
    keyId ? `Key ${keyName(keyId)}` : projectId ? `Project ${projectName(projectId)}` : 'The whole account';
  const targetName = (target: Target): string => [ownerName(target), ...valueName(target)].join(', ');
  const targetHref = ({ projectId, keyId, dimension = null, value = null }: Target): string => {
    const usageOf = { ...(keyId ? { key: keyId } : projectId && { project: projectId }), range: 'month' as const };
    if (dimension !== null && isForEach({ dimension, value })) return linkTo('usage') + writeFilters({ ...usageOf, ...groupBy(dimension) });
    return !keyId && projectId ? linkTo(`projects/${projectId}`) : linkTo('usage') + writeFilters(usageOf);
  };
  return { targetName, targetHref };
}

/** Filters that show the usage of each value of a dimension: `user`, `session` or `tag:team`. */
function groupBy(dimension: string): { group: Group; tagName?: string } {
  const [group, tagName] = dimension.split(':');
  return { group: group as Group, ...(tagName && { tagName }) };
}

/** The user or tag that a budget is of, or each of them. */
function valueName({ dimension, value }: Target): string[] {
  if (!dimension) return [];
  const name = dimension.replace('tag:', '');
  return [value ? `${name} ${value}` : `each ${name}`];
}
