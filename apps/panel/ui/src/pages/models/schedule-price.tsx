import { useState } from 'react';
import type { CatalogModel, PriceScheduleBody, ScheduledPrice } from '../../../../src/shapes/models.js';
import { useChange } from '../../data/use-api.js';
import { plainUsd, readUsd } from '../../format/usd.js';
import { AmountField } from '../../parts/amount-field.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { SelectField, TextField } from '../../parts/field.js';
import { inUtc } from '../../parts/time.js';

/** Prices of a million tokens have six decimals, since a token's are whole pico-USD; the others have twelve. An optional one may be empty. */
const FIELDS = {
  inputUsdPerMTok: { label: 'Input, USD per million tokens', decimalsMax: 6, digitsMax: 7 },
  cachedInputUsdPerMTok: { label: 'Cached input, USD per million tokens', decimalsMax: 6, digitsMax: 7 },
  cacheWriteUsdPerMTok: { label: 'Cache write, USD per million tokens; empty: as input', decimalsMax: 6, digitsMax: 7, isOptional: true },
  cacheWrite1hUsdPerMTok: {
    ...{ label: 'Cache write for an hour, USD per million tokens; empty: as for 5 minutes', decimalsMax: 6, digitsMax: 7 },
    isOptional: true,
  },
  outputUsdPerMTok: { label: 'Output, USD per million tokens', decimalsMax: 6, digitsMax: 7 },
  requestUsd: { label: 'A request, USD; 0 for none', decimalsMax: 12, digitsMax: 6 },
  imageUsd: { label: 'An image, USD; 0 for none', decimalsMax: 12, digitsMax: 6 },
} satisfies Record<string, { label: string; decimalsMax: number; digitsMax: number; isOptional?: boolean }>;
type Field = keyof typeof FIELDS;
type Prices = Record<Field, string>;
const FIELD_NAMES = Object.keys(FIELDS) as Field[];

/** A form for the price of a model from a time on. It begins with the present price. */
export function SchedulePrice({ models, onClose }: { models: CatalogModel[]; onClose: () => void }) {
  // Made once: a form that is sent twice schedules one price.
  const [scheduledPriceId] = useState(() => crypto.randomUUID());
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [price, setPrice] = useState(() => readPrices(models[0]));
  const [at, setAt] = useState('');
  const effectiveAt = at ? new Date(at).toISOString() : undefined;
  const scheduling = useChange<ScheduledPrice>(() => ({
    method: 'POST',
    path: '/prices/scheduled',
    body: { scheduledPriceId, model, price: plainPrices(price), effectiveAt: effectiveAt ?? '' } satisfies PriceScheduleBody,
  }));
  const isValid =
    effectiveAt !== undefined &&
    FIELD_NAMES.every((field) => isAbsent(field, price[field]) || readPrice(field, price[field]).amount !== undefined);
  return (
    <DialogForm title="Schedule a price" submit="Schedule" change={scheduling} onDone={onClose} onClose={onClose} disabled={!isValid}>
      <SelectField
        label="Model"
        value={model}
        onChange={(event) => {
          setModel(event.target.value);
          setPrice(readPrices(models.find(({ id }) => id === event.target.value)));
        }}
      >
        {models.map(({ id }) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </SelectField>
      {FIELD_NAMES.map((field) => (
        <AmountField
          key={field}
          label={FIELDS[field].label}
          value={price[field]}
          onChange={(text) => setPrice({ ...price, [field]: text })}
          read={isAbsent(field, price[field]) ? {} : readPrice(field, price[field])}
          isOptional={isOptional(field)}
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

function isOptional(field: Field): boolean {
  return 'isOptional' in FIELDS[field];
}

function isAbsent(field: Field, text: string): boolean {
  return isOptional(field) && text.trim() === '';
}

function readPrice(field: Field, text: string): ReturnType<typeof readUsd> {
  const { decimalsMax, digitsMax } = FIELDS[field];
  const read = readUsd(text);
  const [whole = '', decimals = ''] = read.amount === undefined ? [] : plainUsd(read.amount).split('.');
  if (whole.length > digitsMax) return { fault: `A price has at most ${digitsMax} digits before the point.` };
  return decimals.length > decimalsMax ? { fault: `A price here has at most ${decimalsMax} decimals.` } : read;
}

/** The prices of the form as the API takes them. */
function plainPrices(price: Prices): PriceScheduleBody['price'] {
  const present = FIELD_NAMES.filter((field) => !isAbsent(field, price[field]));
  return Object.fromEntries(present.map((field) => [field, plainUsd(readUsd(price[field]).amount ?? 0n)])) as Prices;
}

/** The present price as the form has it. */
function readPrices(model: CatalogModel | undefined): Prices {
  const perMillion = (pico = '0') => plainUsd(BigInt(pico) * 1_000_000n);
  const each = (pico = '0') => plainUsd(BigInt(pico));
  const ofWrite = (pico: string | undefined) => (pico === undefined ? '' : perMillion(pico));
  const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, cacheWrite1hPicoUsd, outputPicoUsd, requestPicoUsd, imagePicoUsd } =
    model?.price ?? {};
  return {
    inputUsdPerMTok: perMillion(inputPicoUsd),
    cachedInputUsdPerMTok: perMillion(cachedInputPicoUsd),
    cacheWriteUsdPerMTok: ofWrite(cacheWritePicoUsd),
    cacheWrite1hUsdPerMTok: ofWrite(cacheWrite1hPicoUsd),
    outputUsdPerMTok: perMillion(outputPicoUsd),
    requestUsd: each(requestPicoUsd),
    imageUsd: each(imagePicoUsd),
  };
}
