import { useState } from 'react';
import type { CatalogModel, PriceScheduleBody, ScheduledPrice } from '../../../../src/api/shapes/models.js';
import { useChange } from '../../app/use-api.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { SelectField, TextField } from '../../parts/field.js';
import { inUtc } from '../../parts/time.js';
import { exactUsd, usdPerMillion } from '../../parts/usd.js';

const PRICE = /^\d{1,7}(\.\d{1,6})?$/;
const UNIT_PRICE = /^\d{1,6}(\.\d{1,12})?$/;
const FIELDS = {
  inputUsdPerMTok: { label: 'Input, USD per million tokens', pattern: PRICE, fault: 'A price such as 0.15, with at most 6 decimals.' },
  cachedInputUsdPerMTok: {
    label: 'Cached input, USD per million tokens',
    pattern: PRICE,
    fault: 'A price such as 0.015, with at most 6 decimals.',
  },
  outputUsdPerMTok: { label: 'Output, USD per million tokens', pattern: PRICE, fault: 'A price such as 0.60, with at most 6 decimals.' },
  requestUsd: { label: 'A request, USD; 0 for none', pattern: UNIT_PRICE, fault: 'A price such as 0.01, with at most 12 decimals.' },
  imageUsd: { label: 'An image, USD; 0 for none', pattern: UNIT_PRICE, fault: 'A price such as 0.01, with at most 12 decimals.' },
} as const;
type Field = keyof typeof FIELDS;
type Prices = Record<Field, string>;
const FIELD_NAMES = Object.keys(FIELDS) as Field[];

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
  const isValid = effectiveAt !== undefined && FIELD_NAMES.every((field) => FIELDS[field].pattern.test(price[field]));
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
      {FIELD_NAMES.map((field) => (
        <TextField
          key={field}
          label={FIELDS[field].label}
          inputMode="decimal"
          value={price[field]}
          onChange={(event) => setPrice({ ...price, [field]: event.target.value.trim() })}
          fault={FIELDS[field].pattern.test(price[field]) ? null : FIELDS[field].fault}
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
  const plain = (dollars: string) => dollars.replace(/[$,]/g, '');
  const perMillion = (pico = '0') => plain(usdPerMillion(BigInt(pico)));
  const each = (pico = '0') => plain(exactUsd(BigInt(pico)));
  const { inputPicoUsd, cachedInputPicoUsd, outputPicoUsd, requestPicoUsd, imagePicoUsd } = model?.price ?? {};
  return {
    inputUsdPerMTok: perMillion(inputPicoUsd),
    cachedInputUsdPerMTok: perMillion(cachedInputPicoUsd),
    outputUsdPerMTok: perMillion(outputPicoUsd),
    requestUsd: each(requestPicoUsd),
    imageUsd: each(imagePicoUsd),
  };
}
