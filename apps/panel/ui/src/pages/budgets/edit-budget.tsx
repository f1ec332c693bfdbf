import { useState } from 'react';
import { Link } from 'wouter';
import { START_DAYS } from '#contracts/rules/bounds.js';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import { renderUsd } from '#money/pico-usd.js';
import type { Budget, BudgetPeriod, BudgetSetBody, BudgetUnit } from '../../../../src/shapes/billing.js';
import { useChange } from '../../data/api.js';
import {
  COUNTINGS,
  type Counting,
  isForEach,
  PERIODS,
  parseValues,
  presentBudget,
  readThresholds,
  renderAmount,
  WEEKDAYS,
} from '../../data/budgets.js';
import { useNames, useSession } from '../../data/session.js';
import { useBudgetTargets } from '../../data/use-budget-targets.js';
import { exactUsd, plural, readCount, readUsd } from '../../format/numbers.js';
import { Button } from '../../parts/button.js';
import { Confirm, DialogForm } from '../../parts/dialog.js';
import { AmountField, SelectField, TextField } from '../../parts/field.js';

/** Words of the field for the limit. */
const UNITS: Record<BudgetUnit, { label: string; placeholder: string }> = {
  usd: { label: 'Limit in USD', placeholder: '25.00' },
  tokens: { label: 'Limit in tokens', placeholder: '5000000' },
};

const UNIT_NAMES = [
  ['usd', 'Cost'],
  ['tokens', 'Tokens'],
] as const;

/** Those of a new budget. */
const DEFAULT_THRESHOLDS = [50, 80, 100];

const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

interface EditBudgetProps {
  /** The budget to change. Undefined: a new one. */
  budget?: Budget | undefined;
  /** All budgets of the account. */
  budgets: readonly Budget[];
  onClose: () => void;
}

/**
 * Makes a budget, or changes or removes one. If the chosen target already has a budget, the form changes that budget, and shows its limit
 * until another one is written.
 */
export function EditBudget({ budget: opened, budgets, onClose }: EditBudgetProps) {
  const { account, linkTo, may } = useSession();
  const { keys } = useNames();
  const { targetName } = useBudgetTargets();
  const [target, setTarget] = useState('account');
  const [counting, setCounting] = useState<{ of: Counting; text: string }>({ of: 'all', text: '' });
  const [period, setPeriod] = useState<BudgetPeriod>(opened?.period ?? 'month');
  const [unit, setUnit] = useState<BudgetUnit>(opened?.unit ?? 'usd');
  // Undefined while the person has not written or chosen: the present value stands there.
  const [written, setWritten] = useState<{ amount?: string; timeZone?: string; startDay?: number; thresholds?: string }>({});
  const [isRemoving, setRemoving] = useState(false);
  const values = parseValues(counting.of, counting.text);
  const chosen = { ...parseTarget(target), ...values };
  const findRoot = (id: string) => keys?.find(({ keyId }) => keyId === id)?.rootKeyId ?? id;
  const budget = opened ?? presentBudget(budgets, { ...chosen, ...(chosen.keyId && { keyId: findRoot(chosen.keyId) }), period, unit });
  const { amount = budget ? limitText(budget) : '', timeZone = budget?.timeZone ?? 'UTC', startDay = budget?.startDay ?? 1 } = written;
  const choosePeriod = (chosen: BudgetPeriod): void => {
    setPeriod(chosen);
    const { amount, timeZone, thresholds } = written;
    setWritten({ amount, timeZone, thresholds });
  };
  // The windows of a budget of users or tags do not change.
  const hasZone = period !== 'total' && !budget?.dimension;
  const counts = budget ?? { dimension: null, value: null, ...values };
  const hasThresholds = counts.dimension === null || counts.value !== null;
  const { thresholds = (budget?.thresholds ?? DEFAULT_THRESHOLDS).join(', ') } = written;
  const announced = readThresholds(thresholds);
  const dayNames = budget?.dimension ? [] : listStartDays(period);
  const read = unit === 'tokens' ? readCount(amount) : readUsd(amount);
  const setting = useChange<Budget>(() => {
    const { projectId, keyId, dimension, value } = budget ?? chosen;
    const body: BudgetSetBody = {
      ...(keyId ? { keyId } : projectId && { projectId }),
      ...(dimension && { dimension }),
      ...(value && { value }),
      period,
      ...(hasZone && { timeZone }),
      ...(dayNames.length > 1 && { startDay }),
      ...(hasThresholds && written.thresholds !== undefined && { thresholds: announced.thresholds }),
      ...(unit === 'tokens' ? { limitTokens: Number(read.amount) } : { limitPicoUsd: `${read.amount}` }),
    };
    // A budget that another person makes meanwhile is not replaced: the API refuses, and the form shows it.
    return { method: budget ? 'PUT' : 'POST', path: `/accounts/${account}/budgets`, body };
  });
  if (budget && isRemoving) {
    return (
      <Confirm
        title={`Remove the budget of ${targetName(budget)}?`}
        text="Requests that it would refuse are then limited by other budgets and the balance of the account alone."
        action="Remove budget"
        path={`/accounts/${account}/budgets/${budget.budgetId}`}
        managedBy={budget.managedBy}
        onClose={onClose}
      />
    );
  }
  return (
    <DialogForm
      title={budget ? changeTitle(budget, targetName(budget)) : 'New budget'}
      submit={budget ? 'Save' : 'Create budget'}
      managedBy={budget?.managedBy}
      change={setting}
      onDone={onClose}
      onClose={onClose}
      disabled={read.amount === undefined || !values || (hasThresholds && !announced.thresholds)}
      actions={
        budget && (
          <Button look="danger" onClick={() => setRemoving(true)}>
            Remove
          </Button>
        )
      }
    >
      {!opened && budget && <p>It has this budget already: saving changes it.</p>}
      {!opened && <TargetField value={target} onChange={setTarget} />}
      {!opened && <CountingField counting={counting.of} text={counting.text} onChange={(of, text) => setCounting({ of, text })} />}
      {!opened && (
        <SelectField
          label="Period"
          options={(Object.keys(PERIODS) as BudgetPeriod[]).map((name) => [name, PERIODS[name].each])}
          value={period}
          onChoose={choosePeriod}
        />
      )}
      {!opened && <SelectField label="Limit of" options={UNIT_NAMES} value={unit} onChoose={setUnit} />}
      <AmountField
        label={budget ? `${UNITS[unit].label}, ${PERIODS[period].each.toLowerCase()}` : UNITS[unit].label}
        value={amount}
        onText={(text) => setWritten({ ...written, amount: text })}
        read={read}
        render={(limit) => (unit === 'tokens' ? plural(Number(limit), 'token') : exactUsd(limit))}
        hint={budget && describeUse(budget)}
        placeholder={UNITS[unit].placeholder}
      />
      {dayNames.length > 1 && (
        <SelectField
          label="Begins on"
          options={dayNames.map((name, at) => [at + 1, name])}
          value={startDay}
          onChoose={(day) => setWritten({ ...written, startDay: day })}
        />
      )}
      {hasZone && (
        <SelectField
          label="Resets at midnight in"
          options={[...new Set(['UTC', OWN_ZONE, timeZone])].map((zone) => [zone, zone])}
          value={timeZone}
          onChoose={(zone) => setWritten({ ...written, timeZone: zone })}
        />
      )}
      {hasThresholds && (
        <TextField
          label="Notify at, % of the limit"
          value={thresholds}
          onText={(text) => setWritten({ ...written, thresholds: text })}
          fault={announced.fault ?? null}
          placeholder="Never"
          hint={
            may('notifications.read') ? (
              <>
                <Link to={linkTo('notifications')}>Notifications</Link> has who is told.
              </>
            ) : (
              'Spending that reaches one of these is announced once a period.'
            )
          }
        />
      )}
    </DialogForm>
  );
}

/** Names of the days on which a period may begin. */
function listStartDays(period: BudgetPeriod): string[] {
  const days = period === 'week' ? WEEKDAYS : Array.from({ length: START_DAYS.month }, (_, at) => `Day ${at + 1}`);
  return days.slice(0, START_DAYS[period]);
}

/** `Change the budget of project web: now $1.00`. */
function changeTitle(budget: Budget, name: string): string {
  const of = name.charAt(0).toLowerCase() + name.slice(1);
  return `Change the budget of ${of}: now ${renderAmount(budget, parseAmounts(budget).limit)}`;
}

/** The limit as a person writes it. */
function limitText(budget: Budget): string {
  const { limit } = parseAmounts(budget);
  return budget.unit === 'tokens' ? `${limit}` : renderUsd(limit);
}

function describeUse(budget: Budget): string {
  const { limit, spent, held } = parseAmounts(budget);
  const [now, used, reserved] = [limit, spent, held].map((amount) => renderAmount(budget, amount));
  if (isForEach(budget)) return `Now ${now} for each.`;
  return `Now ${now}; ${used} spent ${PERIODS[budget.period].now}, ${reserved} held.`;
}

interface Target {
  projectId?: string;
  keyId?: string;
}

/** Parses a choice of `TargetField`: `account`, `projectId/…` or `keyId/…`. */
function parseTarget(choice: string): Target {
  const [field = '', id] = choice.split('/');
  return id ? { [field]: id } : {};
}

/** The choice of what a budget is of: the account, one of its projects, or one of its keys. */
function TargetField({ value, onChange }: { value: string; onChange: (choice: string) => void }) {
  const { projects = [], keys = [], projectName, keyName } = useNames();
  return (
    <SelectField
      label="Budget of"
      options={[['account', 'The whole account']]}
      groups={[
        { title: 'Projects', options: projects.map(({ projectId, name }) => [`projectId/${projectId}`, name]) },
        {
          title: 'Keys',
          options: keys
            .filter(({ status, replacedBy }) => status === 'active' && !replacedBy)
            .map(({ keyId, projectId }) => [`keyId/${keyId}`, `${keyName(keyId)}, ${projectName(projectId)}`]),
        },
      ]}
      value={value}
      onChoose={onChange}
    />
  );
}

interface CountingFieldProps {
  counting: Counting;
  /** The user, session, agent, client or tag. */
  text: string;
  onChange: (counting: Counting, text: string) => void;
}

/** The choice of the requests that a budget counts: all together, or those of users, sessions, agents, clients or values of a tag. */
function CountingField({ counting, text, onChange }: CountingFieldProps) {
  const { field } = COUNTINGS[counting];
  return (
    <>
      <SelectField
        label="Counts"
        options={(Object.keys(COUNTINGS) as Counting[]).map((name) => [name, COUNTINGS[name].label])}
        value={counting}
        onChoose={(chosen) => onChange(chosen, '')}
      />
      {field && <TextField label={field} value={text} onText={(written) => onChange(counting, written)} required />}
    </>
  );
}
