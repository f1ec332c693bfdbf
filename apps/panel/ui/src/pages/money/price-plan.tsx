import { useState } from 'react';
import type { AccountRow, AccountUpdateBody, ShownAccount } from '../../../../src/shapes/billing.js';
import type { ModelListReply } from '../../../../src/shapes/catalog.js';
import { useApi, useChange } from '../../data/api.js';
import { DialogForm } from '../../parts/dialog.js';
import { SelectField, TextField } from '../../parts/field.js';
import { listPlanChoices } from './price-plan-words.js';

/** Changes the price plan of an account, at once or from a day on. */
export function PricePlan({
  account: { accountId, name, pricePlan, nextPricePlan, managedBy },
  onClose,
}: {
  account: AccountRow;
  onClose: () => void;
}) {
  const { data } = useApi<ModelListReply>('/models');
  const present = (nextPricePlan ?? { pricePlan }).pricePlan ?? '';
  const [plan, setPlan] = useState(present);
  const [from, setFrom] = useState('');
  const isPast = from !== '' && Date.parse(from) <= Date.now();
  const saving = useChange<ShownAccount>(() => ({
    method: 'PATCH',
    path: `/accounts/${accountId}`,
    body: { pricePlan: plan || null, ...(from && { pricePlanFrom: `${from}T00:00:00Z` }) } satisfies AccountUpdateBody,
  }));
  return (
    <DialogForm
      managedBy={managedBy}
      title={`Price plan: ${name}`}
      submit="Save"
      change={saving}
      onDone={onClose}
      onClose={onClose}
      disabled={!data || isPast}
    >
      <p>Requests that begin afterwards have its prices; running ones keep theirs. A plan that waits for its day is replaced.</p>
      <SelectField label="Price plan" options={listPlanChoices(data?.pricePlans ?? [], present)} value={plan} onChoose={setPlan} />
      <TextField
        label="From (UTC)"
        type="date"
        hint="Empty: at once."
        fault={isPast ? 'It has begun. Choose a later day, or none for at once.' : null}
        value={from}
        onText={setFrom}
      />
    </DialogForm>
  );
}
