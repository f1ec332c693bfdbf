import { useState } from 'react';
import { NAME_LENGTH_MAX, REASON_LENGTH_MAX } from '#contracts/rules/bounds.js';
import { renderUsd } from '#money/pico-usd.js';
import type {
  Account,
  AccountUpdateBody,
  AdjustmentBody,
  Balance,
  GrantBody,
  RefundBody,
  TopupBody,
} from '../../../../src/shapes/billing.js';
import type { Overview } from '../../../../src/shapes/overview.js';
import { useApi, useChange } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { exactUsd, readUsd } from '../../format/numbers.js';
import { Button } from '../../parts/button.js';
import { DialogForm } from '../../parts/dialog.js';
import { AmountField, TextField } from '../../parts/field.js';
import { Page } from '../../parts/page.js';
import { BalanceFigures } from '../overview/balance-figures.js';
import { AccountCard } from './account-card.js';
import { CardPaymentsCard } from './card-payments.js';
import { CreditNotesCard } from './credit-notes-card.js';
import styles from './money.module.css';
import { StatementCard } from './statement-card.js';
import { StatementMailCard } from './statement-mail-card.js';

/** The balance of an account, payments by card where there are any, its statements by month, and for operators the operations on it. */
export function MoneyPage() {
  const { account, mayOnPlatform } = useSession();
  const overview = useApi<Overview>(`/accounts/${account}/overview`);
  const [operation, setOperation] = useState<OperationName>();
  const [isSettingLine, setSettingLine] = useState(false);
  const balance = overview.data?.balance ?? undefined;
  return (
    <Page
      title="Money"
      actions={
        <>
          {mayOnPlatform('money.write') &&
            (Object.keys(OPERATIONS) as OperationName[]).map((name) => (
              <Button key={name} look={name === 'topup' ? 'primary' : 'secondary'} onClick={() => setOperation(name)}>
                {OPERATIONS[name].title}
              </Button>
            ))}
          {mayOnPlatform('accounts') && <Button onClick={() => setSettingLine(true)}>Credit line</Button>}
        </>
      }
    >
      <BalanceFigures balance={balance} exact />
      <CardPaymentsCard />
      <StatementCard />
      <CreditNotesCard />
      <AccountCard />
      <StatementMailCard />
      {operation && balance && (
        <MoneyOperation key={operation} name={operation} balance={balance} onClose={() => setOperation(undefined)} />
      )}
      {isSettingLine && balance && <CreditLine balance={balance} onClose={() => setSettingLine(false)} />}
    </Page>
  );
}

/** Changes how far below zero the top-up balance of an account may go. */
export function CreditLine({ balance, onClose }: { balance: Balance; onClose: () => void }) {
  const { account, accountName } = useSession();
  const [usd, setUsd] = useState(() => renderUsd(BigInt(balance.credit_line_pico_usd ?? 0)));
  const read = readUsd(usd);
  const saving = useChange<Account>(() => ({
    method: 'PATCH',
    path: `/accounts/${account}`,
    body: { creditLineUsd: renderUsd(read.amount ?? 0n) } satisfies AccountUpdateBody,
  }));
  return (
    <DialogForm
      title={`Credit line: ${accountName(account)}`}
      submit="Save"
      change={saving}
      onDone={onClose}
      onClose={onClose}
      disabled={read.amount === undefined}
    >
      <p>The top-up balance may go below zero by as much, and never further. It cannot be less than what is used and held.</p>
      <AmountField label="Amount in USD" hint="0 for none." value={usd} onText={setUsd} read={read} />
    </DialogForm>
  );
}

interface Entry {
  usd: string;
  id: string;
  reason: string;
  expiresAt: string;
}

interface Operation {
  title: string;
  path: string;
  about: string;
  idLabel?: string;
  reason?: 'required' | 'optional';
  expires?: true;
  /** True when a negative amount is possible. */
  signed?: true;
  /** The balance after the operation. The credit line counts as top-up. */
  after: (balance: { topup: bigint; plan: bigint }, amount: bigint) => bigint;
  makeBody: (entry: Entry) => TopupBody | RefundBody | AdjustmentBody | GrantBody;
}

/** Operations on the money of an account. Each happens once for its id, which the form makes when it opens. */
export const OPERATIONS = {
  topup: {
    title: 'Top up',
    path: 'topups',
    about: 'Adds money that does not expire.',
    idLabel: 'Payment id',
    after: ({ topup, plan }, amount) => topup + plan + amount,
    makeBody: ({ usd, id }): TopupBody => ({ usd, paymentId: id }),
  },
  grant: {
    title: 'Grant a plan',
    path: 'grants',
    about: 'Replaces the present plan. What is left at its end is forfeited. Requests use plan money first.',
    expires: true,
    after: ({ topup }, amount) => topup + amount,
    makeBody: ({ usd, id, expiresAt }): GrantBody => ({ usd, grantKey: id, expiresAt }),
  },
  refund: {
    title: 'Refund',
    path: 'refunds',
    about: 'Takes top-ups back: at most what was topped up and is neither spent nor held.',
    idLabel: 'Refund id',
    reason: 'optional',
    after: ({ topup, plan }, amount) => topup + plan - amount,
    makeBody: ({ usd, id, reason }): RefundBody => ({ usd, refundId: id, ...(reason && { reason }) }),
  },
  adjustment: {
    title: 'Adjust',
    path: 'adjustments',
    about: 'Corrects the top-up balance. A negative amount is a debit.',
    idLabel: 'Adjustment id',
    reason: 'required',
    signed: true,
    after: ({ topup, plan }, amount) => topup + plan + amount,
    makeBody: ({ usd, id, reason }): AdjustmentBody => ({ usd, adjustmentId: id, reason }),
  },
} satisfies Record<string, Operation>;
export type OperationName = keyof typeof OPERATIONS;

export function MoneyOperation({ name, balance, onClose }: { name: OperationName; balance: Balance; onClose: () => void }) {
  const { account, accountName } = useSession();
  const operation: Operation = OPERATIONS[name];
  const [entry, setEntry] = useState<Entry>(() => ({ usd: '', id: `panel-${crypto.randomUUID()}`, reason: '', expiresAt: '' }));
  const set = (change: Partial<Entry>) => setEntry({ ...entry, ...change });
  const read = readUsd(entry.usd, { signed: operation.signed });
  const { amount } = read;
  const sources = {
    topup: BigInt(balance.topup_balance_pico_usd) + BigInt(balance.credit_line_pico_usd ?? 0),
    plan: BigInt(balance.plan_balance_pico_usd),
  };
  const after = amount === undefined ? undefined : operation.after(sources, amount);
  const making = useChange<unknown>(() => ({
    method: 'POST',
    path: `/accounts/${account}/${operation.path}`,
    body: operation.makeBody({ ...entry, usd: renderUsd(amount ?? 0n) }),
  }));
  return (
    <DialogForm
      title={`${operation.title}: ${accountName(account)}`}
      submit={operation.title}
      change={making}
      onDone={onClose}
      onClose={onClose}
      disabled={!amount || (after ?? 0n) < 0n}
    >
      <p>{operation.about}</p>
      <AmountField label="Amount in USD" value={entry.usd} onText={(usd) => set({ usd })} read={read} placeholder="25.00" />
      {operation.expires && (
        <TextField label="Ends (UTC)" type="date" value={entry.expiresAt} onText={(expiresAt) => set({ expiresAt })} required />
      )}
      {operation.idLabel && (
        <TextField
          label={operation.idLabel}
          hint="The same id is booked once."
          value={entry.id}
          onText={(id) => set({ id })}
          maxLength={NAME_LENGTH_MAX}
          required
        />
      )}
      {operation.reason && (
        <TextField
          label="Reason"
          hint="Shown in the statement."
          value={entry.reason}
          onText={(reason) => set({ reason })}
          maxLength={REASON_LENGTH_MAX}
          required={operation.reason === 'required'}
        />
      )}
      <dl className={styles.preview}>
        <dt>Balance now</dt>
        <dd>{exactUsd(sources.topup + sources.plan)}</dd>
        <dt>Balance after</dt>
        <dd>{after === undefined ? '–' : exactUsd(after)}</dd>
      </dl>
    </DialogForm>
  );
}
