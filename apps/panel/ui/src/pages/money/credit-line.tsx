import { useState } from 'react';
import { renderUsd } from '#money/pico-usd.js';
import type { Account, AccountUpdateBody, Balance } from '../../../../src/shapes/accounts.js';
import { useSession } from '../../data/session.js';
import { useChange } from '../../data/use-api.js';
import { readUsd } from '../../format/usd.js';
import { AmountField } from '../../parts/amount-field.js';
import { DialogForm } from '../../parts/dialog-form.js';

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
