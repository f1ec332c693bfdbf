import { useState } from 'react';
import { Link } from 'wouter';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import type { Budget, BudgetListReply } from '../../../../src/shapes/billing.js';
import { useApi } from '../../data/api.js';
import { collectMoney, computeLeft, isForEach, PERIODS } from '../../data/budgets.js';
import { useFilters, writeFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { useBudgetTargets } from '../../data/use-budget-targets.js';
import { BudgetAmount, BudgetUse } from '../../parts/budget-use.js';
import { Button } from '../../parts/button.js';
import { Chosen } from '../../parts/filter-bar.js';
import { WithOwner } from '../../parts/managed.js';
import { Moment } from '../../parts/moment.js';
import { OnePrecision } from '../../parts/money.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { relativeTime } from '../../parts/time.js';
import { BudgetValues } from './budget-values.js';
import { EditBudget } from './edit-budget.js';

/** The sums change with every request. */
const REFETCH_MS = 15_000;

/** The budgets of an account, its projects and its keys: what is spent, held and left of each. */
export function Budgets() {
  const { account, linkTo, may } = useSession();
  const { data } = useApi<BudgetListReply>(`/accounts/${account}/budgets`, { refetchMs: REFETCH_MS });
  const { targetName, targetHref } = useBudgetTargets();
  const { filters, change } = useFilters();
  const budgets = data?.budgets.filter(({ budgetId }) => !filters.budget || budgetId === filters.budget);
  const [editing, setEditing] = useState<Budget | 'new'>();
  const [listing, setListing] = useState<Budget>();
  const newBudget = may('budgets') && (
    <Button look="primary" icon="plus" onClick={() => setEditing('new')}>
      New budget
    </Button>
  );
  return (
    <Page
      title="Budgets"
      about="The most that an account, a project or a key may spend, in dollars or tokens. A request that could exceed it is refused."
      actions={newBudget}
    >
      {filters.budget && (
        <search>
          <Chosen onRemove={() => change({ budget: undefined })}>One budget</Chosen>
        </search>
      )}
      <OnePrecision amounts={collectMoney(data?.budgets)}>
        <Card flush>
          <Table<Budget>
            caption="Budgets"
            rows={budgets}
            placeholders={3}
            rowKey={({ budgetId }) => budgetId}
            empty={
              filters.budget ? (
                <Empty icon="budgets" title="This budget was removed" />
              ) : (
                <Empty icon="budgets" title="No budgets yet" text="Without one, only the balance of the account limits what is spent.">
                  {newBudget}
                </Empty>
              )
            }
            columns={[
              {
                head: 'Budget of',
                grow: true,
                cell: (budget) => (
                  <TwoLines
                    main={<Link to={targetHref(budget)}>{targetName(budget)}</Link>}
                    more={<WithOwner by={budget.managedBy}>{PERIODS[budget.period].each}</WithOwner>}
                  />
                ),
              },
              { head: 'Spent', cell: (budget) => <BudgetUse budget={budget} /> },
              {
                head: 'Held',
                align: 'end',
                wide: true,
                cell: (budget) => (isForEach(budget) ? '–' : <BudgetAmount budget={budget} amount={parseAmounts(budget).held} />),
              },
              {
                head: 'Left',
                align: 'end',
                wide: true,
                cell: (budget) => (isForEach(budget) ? '–' : <BudgetAmount budget={budget} amount={computeLeft(budget)} left />),
              },
              { head: 'Resets', wide: true, cell: (budget) => <Reset budget={budget} /> },
              ...(may('audit.read')
                ? [
                    {
                      head: '',
                      key: 'history',
                      align: 'end' as const,
                      wide: true,
                      cell: ({ budgetId }: Budget) => (
                        <Link to={linkTo('audit') + writeFilters({ target: `budget/${budgetId}` })}>History</Link>
                      ),
                    },
                  ]
                : []),
              {
                ...buttonColumn<Budget>('Values', setListing, {
                  has: isForEach,
                  label: (budget) => `Values of the budget of ${targetName(budget)}`,
                }),
                ...{ key: 'values', wide: true },
              },
              buttonColumn<Budget>('Change', setEditing, {
                has: () => may('budgets'),
                label: (budget) => `Change the budget of ${targetName(budget)}`,
              }),
            ]}
          />
        </Card>
      </OnePrecision>
      {listing && <BudgetValues budget={listing} onClose={() => setListing(undefined)} />}
      {editing && data && (
        <EditBudget budget={editing === 'new' ? undefined : editing} budgets={data.budgets} onClose={() => setEditing(undefined)} />
      )}
    </Page>
  );
}

function Reset({ budget: { resetsAt, timeZone } }: { budget: Budget }) {
  if (resetsAt === null) return 'never';
  return (
    <TwoLines
      main={relativeTime(resetsAt, Date.now())}
      more={
        <>
          <Moment at={resetsAt} named />
          {timeZone !== 'UTC' && `, a window of ${timeZone}`}
        </>
      }
    />
  );
}
