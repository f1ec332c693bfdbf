import { useState } from 'react';
import { renderUsd } from '#money/pico-usd.js';
import type { AccountRow, LowBalanceBody, ShownAccount } from '../../../../src/shapes/billing.js';
import { useChange } from '../../data/api.js';
import { readUsd } from '../../format/numbers.js';
import { DialogForm } from '../../parts/dialog.js';
import { AmountField } from '../../parts/field.js';

/** Changes the amount below which the people and webhooks of an account are told of its balance. */
export function LowBalance({
  account: { accountId, name, lowBalancePicoUsd, managedBy },
  onClose,
}: {
  account: AccountRow;
  onClose: () => void;
}) {
  const [usd, setUsd] = useState(() => renderUsd(BigInt(lowBalancePicoUsd ?? 0)));
  const read = readUsd(usd);
  const saving = useChange<ShownAccount>(() => ({
    method: 'PUT',
    path: `/accounts/${accountId}/low-balance`,
    body: { lowBalanceUsd: renderUsd(read.amount ?? 0n) } satisfies LowBalanceBody,
  }));
  return (
    <DialogForm
      title={`Low balance: ${name}`}
      submit="Save"
      change={saving}
      managedBy={managedBy}
      onDone={onClose}
      onClose={onClose}
      disabled={read.amount === undefined}
    >
      <p>When the balance falls below this amount, the receivers of Notifications are told once, and the overview shows a warning.</p>
      <AmountField label="Amount in USD" hint="0 for no warning." value={usd} onText={setUsd} read={read} />
    </DialogForm>
  );
}
