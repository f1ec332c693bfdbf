import { useState } from 'react';
import type { CatalogModel, PriceScheduleBody, ScheduledPrice } from '../../../../src/api/shapes/models.js';
import { useChange } from '../../app/use-api.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { SelectField, TextField } from '../../parts/field.js';
import { inUtc } from '../../parts/time.js';
import { usdPerMillion } from '../../parts/usd.js';

const PRICE = /^\d{1,7}(\.\d{1,6})?$/;
const FIELDS = { inputUsdPerMTok: 'Input', cachedInputUsdPerMTok: 'Cached input', outputUsdPerMTok: 'Output' } as const;
type Prices = PriceScheduleBody['price'];

/** A form for the price of a model from a time on. It begins with the present price. */
export function SchedulePrice({ models, onClose }: { models: CatalogModel[]; onClose: () => void }) {
  // Made once: a form that is sent twice schedules one price.
  const [scheduledPriceId] = useState(() => crypto.randomUUID());
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [price, setPrice] = useState(() => pricesOf(models[0]));
  const [at, setAt] = useState('');
  const effectiveAt = at ? new Date(at).toISOString() : undefined;
  const scheduling = useChange<ScheduledPrice>(() => ({
    method: 'POST',
    path: '/prices/scheduled',
    body: { scheduledPriceId, model, price, effectiveAt: effectiveAt ?? '' } satisfies PriceScheduleBody,
  }));
  const isValid = effectiveAt !== undefined && Object.values(price).every((text) => PRICE.test(text));
  return (
    <DialogForm title="Schedule a price" submit="Schedule" change={scheduling} onDone={onClose} onClose={onClose} disabled={!isValid}>
      <SelectField
        label="Model"
        value={model}
        onChange={(event) => {
          setModel(event.target.value);
          setPrice(pricesOf(models.find(({ id }) => id === event.target.value)));
        }}
      >
        {models.map(({ id }) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </SelectField>
      {Object.entries(FIELDS).map(([field, label]) => (
        <TextField
          key={field}
          label={`${label}, USD per million tokens`}
          inputMode="decimal"
          value={price[field as keyof Prices]}
          onChange={(event) => setPrice({ ...price, [field]: event.target.value.trim() })}
          fault={PRICE.test(price[field as keyof Prices]) ? null : 'A price such as 0.15, with at most 6 decimals.'}
          required
        />
      ))}
      <TextField
        label="Takes effect (your time zone)"
        type="datetime-local"
        step={1}
        value={at}
        onChange={(event) => setAt(event.target.value)}
        hint={effectiveAt ? inUtc(effectiveAt) : 'Requests that are held after it have the price.'}
        required
      />
    </DialogForm>
  );
}

/** The present price as the form has it. */
function pricesOf(model: CatalogModel | undefined): Prices {
  const text = (pico = '0') => usdPerMillion(BigInt(pico)).replace(/[$,]/g, '');
  const { inputPicoUsd, cachedInputPicoUsd, outputPicoUsd } = model?.price ?? {};
  return { inputUsdPerMTok: text(inputPicoUsd), cachedInputUsdPerMTok: text(cachedInputPicoUsd), outputUsdPerMTok: text(outputPicoUsd) };
}
