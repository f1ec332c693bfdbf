import { useState } from 'react';
import { REASON_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type { AccountRow, AccountUpdateBody, ShownAccount } from '../../../../src/shapes/billing.js';
import { useChange } from '../../data/api.js';
import { DialogForm } from '../../parts/dialog.js';
import { TextField } from '../../parts/field.js';

/** Freezes an active account with a reason, or makes a frozen one active again. */
export function FreezeAccount({
  account: { accountId, name, status, statusReason, managedBy },
  onClose,
}: {
  account: AccountRow;
  onClose: () => void;
}) {
  const [reason, setReason] = useState('');
  const isFrozen = status === 'frozen';
  const saving = useChange<ShownAccount>(() => ({
    method: 'PATCH',
    path: `/accounts/${accountId}`,
    body: (isFrozen
      ? { status: 'active' }
      : { status: 'frozen', ...(reason.trim() && { statusReason: reason.trim() }) }) satisfies AccountUpdateBody,
  }));
  return (
    <DialogForm
      title={`${isFrozen ? 'Unfreeze' : 'Freeze'} ${name}?`}
      submit={isFrozen ? 'Unfreeze account' : 'Freeze account'}
      look={isFrozen ? 'primary' : 'danger'}
      change={saving}
      managedBy={managedBy}
      onDone={onClose}
      onClose={onClose}
    >
      {isFrozen ? (
        <p>It is frozen: {statusReason ?? 'no reason given'}. Its requests are served again at once.</p>
      ) : (
        <>
          <p>New requests of the account are refused until it is unfrozen. Running ones end as usual, and its money may change.</p>
          <TextField
            label="Reason"
            hint="Its people see it on their first page, and the journal has it."
            value={reason}
            onText={setReason}
            maxLength={REASON_LENGTH_MAX}
          />
        </>
      )}
    </DialogForm>
  );
}
