import { useState } from 'react';
import type { Budget, BudgetPeriod, BudgetSetBody } from '../../../../src/api/shapes/budgets.js';
import { PERIODS } from '../../app/budgets.js';
import { useSession } from '../../app/session.js';
import { useChange } from '../../app/use-api.js';
import { useBudgetTargets } from '../../app/use-budget-targets.js';
import { Button } from '../../parts/button.js';
import { Confirm } from '../../parts/confirm.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { SelectField, TextField } from '../../parts/field.js';
import { exactUsd, parseUsd } from '../../parts/usd.js';
import { TargetField, targetOf } from './target-field.js';

const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Sets a budget, or changes the limit of one, which can also be removed here. */
export function EditBudget({ budget, onClose }: { budget?: Budget; onClose: () => void }) {
  const { account } = useSession();
  const { targetName } = useBudgetTargets();
  const [target, setTarget] = useState('account');
  const [period, setPeriod] = useState<BudgetPeriod>(budget?.period ?? 'month');
  const [timeZone, setTimeZone] = useState(budget?.timeZone ?? 'UTC');
  const [usd, setUsd] = useState(budget ? exactUsd(BigInt(budget.limitPicoUsd)) : '');
  const [isRemoving, setRemoving] = useState(false);
  const limit = parseUsd(usd);
  const setting = useChange<Budget>(() => {
    const { projectId, keyId } = budget ?? targetOf(target);
    const body: BudgetSetBody = {
      ...(keyId ? { keyId } : projectId && { projectId }),
      period,
      ...(period !== 'total' && { timeZone }),
      limitPicoUsd: `${limit}`,
    };
    return { method: 'PUT', path: `/accounts/${account}/budgets`, body };
  });
  if (budget && isRemoving) {
    return (
      <Confirm
        title={`Remove the budget of ${targetName(budget)}?`}
        text="Requests that it would refuse are then limited by other budgets and the balance of the account alone."
        action="Remove budget"
        path={`/accounts/${account}/budgets/${budget.budgetId}`}
        onClose={onClose}
      />
    );
  }
  return (
    <DialogForm
      title={budget ? targetName(budget) : 'New budget'}
      submit={budget ? 'Save' : 'Set budget'}
      change={setting}
      onDone={onClose}
      onClose={onClose}
      disabled={limit === undefined || limit < 0n}
      actions={
        budget && (
          <Button look="danger" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        )
      }
    >
      {!budget && <TargetField value={target} onChange={setTarget} />}
      {!budget && (
        <SelectField label="Period" value={period} onChange={(event) => setPeriod(event.target.value as BudgetPeriod)}>
          {Object.entries(PERIODS).map(([name, { each }]) => (
            <option key={name} value={name}>
              {each}
            </option>
          ))}
        </SelectField>
      )}
      <TextField
        label={budget ? `Limit in USD, ${PERIODS[period].each.toLowerCase()}` : 'Limit in USD'}
        inputMode="decimal"
        value={usd}
        onChange={(event) => setUsd(event.target.value)}
        fault={usd && (limit ?? -1n) < 0n ? 'An amount such as 25 or 0.50, with at most 12 decimals.' : null}
        hint={
          budget &&
          `${exactUsd(BigInt(budget.spentPicoUsd))} is spent ${PERIODS[period].now}, ${exactUsd(BigInt(budget.heldPicoUsd))} is held.`
        }
        placeholder="25.00"
        required
      />
      {period !== 'total' && (
        <SelectField label="Resets at midnight in" value={timeZone} onChange={(event) => setTimeZone(event.target.value)}>
          {[...new Set(['UTC', OWN_ZONE, timeZone])].map((zone) => (
            <option key={zone} value={zone}>
              {zone}
            </option>
          ))}
        </SelectField>
      )}
    </DialogForm>
  );
}
