import { type ChangeEvent, useState } from 'react';
import type { Budget, BudgetPeriod, BudgetSetBody, BudgetUnit } from '../../../../src/api/shapes/budgets.js';
import { type Counting, valuesOf } from '../../app/budget-values.js';
import { amountsOf, PERIODS, renderAmount, WEEKDAYS } from '../../app/budgets.js';
import { useSession } from '../../app/session.js';
import { useChange } from '../../app/use-api.js';
import { useBudgetTargets } from '../../app/use-budget-targets.js';
import { Button } from '../../parts/button.js';
import { Confirm } from '../../parts/confirm.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { SelectField, TextField } from '../../parts/field.js';
import { parseUsd } from '../../parts/usd.js';
import { CountingField, TargetField, targetOf } from './target-field.js';

/** Words of the field for the limit. */
const UNITS: Record<BudgetUnit, { label: string; fault: string; placeholder: string }> = {
  usd: { label: 'Limit in USD', fault: 'An amount such as 25 or 0.50, with at most 12 decimals.', placeholder: '25.00' },
  tokens: { label: 'Limit in tokens', fault: 'A whole number such as 5000000.', placeholder: '5000000' },
};

/** Names of the days on which a period may begin. */
const START_DAYS: Partial<Record<BudgetPeriod, string[]>> = {
  week: WEEKDAYS,
  month: Array.from({ length: 28 }, (_, at) => `Day ${at + 1}`),
};

const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

function parseTokens(text: string): bigint | undefined {
  const digits = text.replaceAll(',', '').trim();
  return /^\d{1,15}$/.test(digits) ? BigInt(digits) : undefined;
}

/** Sets a budget, or changes the limit of one, which can also be removed here. */
export function EditBudget({ budget, onClose }: { budget?: Budget; onClose: () => void }) {
  const { account } = useSession();
  const { targetName } = useBudgetTargets();
  const [target, setTarget] = useState('account');
  const [counting, setCounting] = useState<{ of: Counting; text: string }>({ of: 'all', text: '' });
  const [period, setPeriod] = useState<BudgetPeriod>(budget?.period ?? 'month');
  const [timeZone, setTimeZone] = useState(budget?.timeZone ?? 'UTC');
  const [startDay, setStartDay] = useState(budget?.startDay ?? 1);
  const [unit, setUnit] = useState<BudgetUnit>(budget?.unit ?? 'usd');
  const [amount, setAmount] = useState(budget ? renderAmount(budget, amountsOf(budget).limit).replace(' tokens', '') : '');
  const [isRemoving, setRemoving] = useState(false);
  const choosePeriod = (event: ChangeEvent<HTMLSelectElement>): void => {
    setPeriod(event.target.value as BudgetPeriod);
    setStartDay(1);
  };
  const limit = unit === 'tokens' ? parseTokens(amount) : parseUsd(amount);
  const values = valuesOf(counting.of, counting.text);
  const setting = useChange<Budget>(() => {
    const { projectId, keyId, dimension, value } = budget ?? { ...targetOf(target), ...values };
    const body: BudgetSetBody = {
      ...(keyId ? { keyId } : projectId && { projectId }),
      ...(dimension && { dimension }),
      ...(value && { value }),
      period,
      ...(period !== 'total' && { timeZone }),
      ...(period in START_DAYS && { startDay }),
      ...(unit === 'tokens' ? { limitTokens: Number(limit) } : { limitPicoUsd: `${limit}` }),
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
      disabled={limit === undefined || limit < 0n || !values}
      actions={
        budget && (
          <Button look="danger" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        )
      }
    >
      {!budget && <TargetField value={target} onChange={setTarget} />}
      {!budget && <CountingField counting={counting.of} text={counting.text} onChange={(of, text) => setCounting({ of, text })} />}
      {!budget && (
        <SelectField label="Period" value={period} onChange={choosePeriod}>
          {Object.entries(PERIODS).map(([name, { each }]) => (
            <option key={name} value={name}>
              {each}
            </option>
          ))}
        </SelectField>
      )}
      {!budget && (
        <SelectField label="Limit of" value={unit} onChange={(event) => setUnit(event.target.value as BudgetUnit)}>
          <option value="usd">Cost</option>
          <option value="tokens">Tokens</option>
        </SelectField>
      )}
      <TextField
        label={budget ? `${UNITS[unit].label}, ${PERIODS[period].each.toLowerCase()}` : UNITS[unit].label}
        inputMode="decimal"
        value={amount}
        onChange={(event) => setAmount(event.target.value)}
        fault={amount && (limit ?? -1n) < 0n ? UNITS[unit].fault : null}
        hint={
          budget &&
          `${renderAmount(budget, amountsOf(budget).spent)} spent ${PERIODS[period].now}, ${renderAmount(budget, amountsOf(budget).held)} held.`
        }
        placeholder={UNITS[unit].placeholder}
        required
      />
      {period in START_DAYS && !budget?.dimension && (
        <SelectField label="Begins on" value={startDay} onChange={(event) => setStartDay(Number(event.target.value))}>
          {START_DAYS[period]?.map((name, at) => (
            <option key={name} value={at + 1}>
              {name}
            </option>
          ))}
        </SelectField>
      )}
      {period !== 'total' && !budget?.dimension && (
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
