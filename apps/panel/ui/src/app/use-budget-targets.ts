import type { Budget } from '../../../src/api/shapes/budgets.js';
import { writeFilters } from './filters.js';
import { useSession } from './session.js';
import { useNames } from './use-names.js';

type Target = Pick<Budget, 'projectId' | 'keyId'>;

/** Names of what budgets are of, and the addresses of what it spent. */
export function useBudgetTargets() {
  const { hrefOf } = useSession();
  const { projectName, keyName } = useNames();
  const targetName = ({ projectId, keyId }: Target): string =>
    keyId ? `Key ${keyName(keyId)}` : projectId ? `Project ${projectName(projectId)}` : 'The whole account';
  const targetHref = ({ projectId, keyId }: Target): string =>
    hrefOf('usage') + writeFilters({ ...(keyId ? { key: keyId } : projectId ? { project: projectId } : {}), range: 'month' });
  return { targetName, targetHref };
}
