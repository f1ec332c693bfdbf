import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import type { Budget, BudgetValue, BudgetValuesReply } from '../../../../src/shapes/billing.js';
import { usePages } from '../../data/api.js';
import { PERIODS, renderAmount } from '../../data/budgets.js';
import { describeChild } from '../../data/child-words.js';
import { useSession } from '../../data/session.js';
import { useBudgetTargets } from '../../data/use-budget-targets.js';
import { BudgetAmount } from '../../parts/budget-use.js';
import { Button, MoreButton } from '../../parts/button.js';
import { Dialog, DialogActions } from '../../parts/dialog.js';
import { Empty } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';

/** The sums change with every request. */
const REFETCH_MS = 15_000;

/** Lists what each user, session or other value has used of a budget in its window, a page at a time. */
export function BudgetValues({ budget, onClose }: { budget: Budget; onClose: () => void }) {
  const { account } = useSession();
  const { targetName } = useBudgetTargets();
  const list = usePages<BudgetValuesReply>(`/accounts/${account}/budgets/${budget.budgetId}/values`, { refetchMs: REFETCH_MS });
  const values = list.data?.pages.flatMap((page) => page.values);
  const { limit } = parseAmounts(budget);
  return (
    <Dialog title={targetName(budget)} onClose={onClose}>
      <p>{`Used ${PERIODS[budget.period].now}; each has at most ${renderAmount(budget, limit)}.`}</p>
      <Table<BudgetValue>
        caption="Used by each"
        rows={values}
        placeholders={3}
        rowKey={({ value }) => value}
        empty={<Empty icon="budgets" title="Nothing is spent or held" />}
        columns={[
          {
            head: 'Value',
            grow: true,
            wrap: true,
            cell: ({ value, limitPicoUsd }) => (
              <TwoLines
                main={<span title={value}>{budget.dimension === 'child' ? describeChild(value) : value}</span>}
                more={limitPicoUsd !== undefined && `its own limit: ${renderAmount(budget, lowest(BigInt(limitPicoUsd), limit))}`}
              />
            ),
          },
          { head: 'Spent', align: 'end', cell: (row) => <BudgetAmount budget={budget} amount={readAmounts(row).spent} /> },
          { head: 'Held', align: 'end', cell: (row) => <BudgetAmount budget={budget} amount={readAmounts(row).held} /> },
        ]}
      />
      <MoreButton list={list}>More values</MoreButton>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
      </DialogActions>
    </Dialog>
  );
}

/** Amounts in the unit of the budget. */
function readAmounts({ spentPicoUsd, heldPicoUsd, spentTokens = 0, heldTokens = 0 }: BudgetValue): { spent: bigint; held: bigint } {
  return { spent: BigInt(spentPicoUsd ?? spentTokens), held: BigInt(heldPicoUsd ?? heldTokens) };
}

/** The limit of the budget may have been lowered since. */
function lowest(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
