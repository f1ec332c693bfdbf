import type { Budget } from '../../../../src/shapes/budgets.js';
import { shareSpent } from '../../data/budgets.js';
import { useBudgetTargets } from '../../data/use-budget-targets.js';
import { BudgetUse } from '../../parts/budget-use.js';
import styles from './budget-ranking.module.css';

const BUDGETS_MAX = 5;

/** The budgets of which the largest share is spent. */
export function BudgetRanking({ budgets }: { budgets: Budget[] }) {
  const { targetName } = useBudgetTargets();
  const shown = budgets.toSorted((one, other) => shareSpent(other) - shareSpent(one)).slice(0, BUDGETS_MAX);
  return (
    <ol className={styles.budgets}>
      {shown.map((budget) => (
        <li key={budget.budgetId}>
          <BudgetUse budget={budget} name={targetName(budget)} />
        </li>
      ))}
    </ol>
  );
}
