import { useState } from 'react';
import type { Account, AccountUpdateBody, Balance } from '../../../../src/api/shapes/accounts.js';
import { useSession } from '../../app/session.js';
import { useChange } from '../../app/use-api.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { TextField } from '../../parts/field.js';
import { exactUsd, parseUsd, plainUsd } from '../../parts/usd.js';

/** Changes how far below zero the top-up balance of an account may go. */
export function CreditLine({ balance, onClose }: { balance: Balance; onClose: () => void }) {
  const { account, accountName } = useSession();
  const [usd, setUsd] = useState(() => plainUsd(exactUsd(BigInt(balance.credit_line_pico_usd ?? 0))));
  const amount = parseUsd(usd);
  const isAmount = amount !== undefined && amount >= 0n;
  const saving = useChange<Account>(() => ({
    method: 'PATCH',
    path: `/accounts/${account}`,
    body: { creditLineUsd: plainUsd(usd) } satisfies AccountUpdateBody,
  }));
  return (
    <DialogForm
      title={`Credit line: ${accountName(account)}`}
      submit="Save"
      change={saving}
      onDone={onClose}
      onClose={onClose}
      disabled={!isAmount}
    >
      <p>The top-up balance may go below zero by as much, and never further. It cannot be less than what is used and held.</p>
      <TextField
        label="Amount in USD"
        hint="0 for none."
        inputMode="decimal"
        value={usd}
        onChange={(event) => setUsd(event.target.value)}
        fault={usd && !isAmount ? 'An amount such as 500 or 0.01, with at most 12 decimals.' : null}
        required
      />
    </DialogForm>
  );
}
