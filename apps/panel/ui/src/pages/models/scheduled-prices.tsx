import { useState } from 'react';
import { Link } from 'wouter';
import { REASON_LENGTH_MAX } from '#contracts/rules/bounds.js';
import { renderListPrices } from '#money/list-prices.js';
import { renderUsd } from '#money/pico-usd.js';
import { LIST_PRICE_DIGITS } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import type {
  CatalogGetReply,
  CatalogModel,
  ModelListReply,
  PriceListReply,
  PriceScheduleBody,
  ScheduledPrice,
} from '../../../../src/shapes/catalog.js';
import { useApi, useChange } from '../../data/api.js';
import { useNow } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { readUsd, usdPerMillion } from '../../format/numbers.js';
import { Button } from '../../parts/button.js';
import { Confirm, DialogForm } from '../../parts/dialog.js';
import { AmountField, SelectField, TextField } from '../../parts/field.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { duration, inUtc, zoneName } from '../../parts/time.js';
import { otherPrices } from './differences.js';
import { readListPrice } from './read-model.js';

const REFETCH_MS = 5_000;

/** Prices that wait for their time, beside the present ones. */
export function ScheduledPriceList() {
  const { linkTo, mayOnPlatform } = useSession();
  const { data } = useApi<PriceListReply>('/prices/scheduled', { refetchMs: REFETCH_MS });
  const { data: list } = useApi<ModelListReply>('/models', { refetchMs: REFETCH_MS });
  const { data: catalog } = useApi<CatalogGetReply>('/catalog');
  const [isMaking, setMaking] = useState(false);
  const [cancelling, setCancelling] = useState<ScheduledPrice>();
  const models = list?.models ?? [];
  const now = new Map(models.map(({ id, price }) => [id, price]));
  const price = (field: 'inputPicoUsd' | 'cachedInputPicoUsd' | 'outputPicoUsd') => (row: ScheduledPrice) => {
    const before = now.get(row.model)?.[field];
    return <TwoLines main={usdPerMillion(BigInt(row.price[field]))} more={before && `now ${usdPerMillion(BigInt(before))}`} />;
  };
  const mayChange = mayOnPlatform('catalog');
  const newPrice = mayChange && catalog?.editing && models.length > 0 && (
    <Button look="primary" icon="plus" onClick={() => setMaking(true)}>
      Schedule a price
    </Button>
  );
  return (
    <>
      <Card
        flush
        title="Scheduled prices"
        note="A file that is applied later sets the prices of its models again."
        actions={data && data.prices.length > 0 && newPrice}
      >
        <Table<ScheduledPrice>
          caption="Scheduled prices"
          rows={data?.prices}
          placeholders={3}
          rowKey={({ scheduledPriceId }) => scheduledPriceId}
          empty={
            <Empty
              icon="models"
              title="No price is scheduled"
              text="A scheduled price takes effect at its time. Requests that were held before keep theirs."
            >
              {newPrice}
            </Empty>
          }
          columns={[
            {
              head: 'Model',
              grow: true,
              cell: ({ model, price, reason }) => (
                <TwoLines
                  main={<Link to={linkTo(`models/${encodeURIComponent(model)}`)}>{model}</Link>}
                  more={[...otherPrices(price), reason].filter(Boolean).join(' · ')}
                />
              ),
            },
            {
              head: 'Takes effect',
              isTime: true,
              cell: ({ effectiveAt }) => <TwoLines main={<Moment at={effectiveAt} />} more={<Countdown to={effectiveAt} />} />,
            },
            { head: 'Input', align: 'end', cell: price('inputPicoUsd') },
            { head: 'Cached', align: 'end', wide: true, cell: price('cachedInputPicoUsd') },
            { head: 'Output', align: 'end', cell: price('outputPicoUsd') },
            buttonColumn('Cancel', setCancelling, { has: () => mayChange }),
          ]}
        />
      </Card>
      {isMaking && <SchedulePrice models={models} onClose={() => setMaking(false)} />}
      {cancelling && (
        <Confirm
          title={`Cancel the price of ${cancelling.model}?`}
          text="The model keeps its present price."
          action="Cancel the price"
          keep="Keep it"
          path={`/prices/scheduled/${cancelling.scheduledPriceId}`}
          onClose={() => setCancelling(undefined)}
        />
      )}
    </>
  );
}

/** Time left, second by second. */
function Countdown({ to }: { to: string }) {
  const seconds = Math.ceil((Date.parse(to) - useNow(1_000)) / 1_000);
  if (seconds <= 0) return 'now';
  return seconds < 60 ? `in ${seconds} s` : `in ${duration(seconds * 1_000)}`;
}

const { perMillion, each } = LIST_PRICE_DIGITS;

/** An optional price may be empty. */
const FIELDS = {
  inputUsdPerMTok: { label: 'Input, USD per million tokens', digits: perMillion },
  cachedInputUsdPerMTok: { label: 'Cached input, USD per million tokens', digits: perMillion },
  cacheWriteUsdPerMTok: { label: 'Cache write, USD per million tokens; empty: as input', digits: perMillion, isOptional: true },
  cacheWrite1hUsdPerMTok: {
    ...{ label: 'Cache write for an hour, USD per million tokens; empty: as for 5 minutes', digits: perMillion },
    isOptional: true,
  },
  outputUsdPerMTok: { label: 'Output, USD per million tokens', digits: perMillion },
  requestUsd: { label: 'A request, USD; 0 for none', digits: each },
  imageUsd: { label: 'An image, USD; 0 for none', digits: each },
} satisfies Record<string, { label: string; digits: typeof perMillion | typeof each; isOptional?: boolean }>;
type Field = keyof typeof FIELDS;
type Prices = Record<Field, string>;
const FIELD_NAMES = Object.keys(FIELDS) as Field[];

/** A form for the price of a model from a time on. It begins with the present price. */
function SchedulePrice({ models, onClose }: { models: CatalogModel[]; onClose: () => void }) {
  // Made once: a form that is sent twice schedules one price.
  const [scheduledPriceId] = useState(() => crypto.randomUUID());
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [price, setPrice] = useState(() => readPrices(models[0]));
  const [at, setAt] = useState('');
  const [reason, setReason] = useState('');
  const now = useNow(1_000);
  const rules = readRules(models.find(({ id }) => id === model));
  const effectiveAt = at ? new Date(at).toISOString() : undefined;
  const scheduling = useChange<ScheduledPrice>(() => ({
    method: 'POST',
    path: '/prices/scheduled',
    body: {
      scheduledPriceId,
      model,
      price: { ...plainPrices(price), ...rules },
      effectiveAt: effectiveAt ?? '',
      ...(reason.trim() && { reason: reason.trim() }),
    } satisfies PriceScheduleBody,
  }));
  const isPast = effectiveAt !== undefined && Date.parse(effectiveAt) <= now;
  const isValid =
    effectiveAt !== undefined &&
    !isPast &&
    FIELD_NAMES.every((field) => isAbsent(field, price[field]) || readPrice(field, price[field]).amount !== undefined);
  return (
    <DialogForm title="Schedule a price" submit="Schedule" change={scheduling} onDone={onClose} onClose={onClose} disabled={!isValid}>
      <SelectField
        label="Model"
        options={models.map(({ id }) => [id, id])}
        value={model}
        onChoose={(chosen) => {
          setModel(chosen);
          setPrice(readPrices(models.find(({ id }) => id === chosen)));
        }}
      />
      {FIELD_NAMES.map((field) => (
        <AmountField
          key={field}
          label={FIELDS[field].label}
          value={price[field]}
          onText={(text) => setPrice({ ...price, [field]: text })}
          read={isAbsent(field, price[field]) ? {} : readPrice(field, price[field])}
          isOptional={isOptional(field)}
        />
      ))}
      {Object.keys(rules).length > 0 && <p>The steps, tiers and image classes of the price stay. To change them, edit the catalog.</p>}
      <TextField
        label={`Takes effect (local time, ${zoneName('local', effectiveAt ?? Date.now())})`}
        type="datetime-local"
        step={1}
        value={at}
        onText={setAt}
        fault={isPast ? 'It is past. Choose a later time; a price that holds at once is a change of the file.' : null}
        hint={effectiveAt ? inUtc(effectiveAt) : 'Requests that are held after it have the price.'}
        required
      />
      <TextField
        label="Reason"
        hint="For the journal and the history. May be left out."
        value={reason}
        onText={setReason}
        maxLength={REASON_LENGTH_MAX}
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
  return readListPrice(text, FIELDS[field].digits);
}

/** The prices of the form as the API takes them. */
function plainPrices(price: Prices): PriceScheduleBody['price'] {
  const present = FIELD_NAMES.filter((field) => !isAbsent(field, price[field]));
  return Object.fromEntries(present.map((field) => [field, renderUsd(readUsd(price[field]).amount ?? 0n)])) as Prices;
}

/** The present price as the form has it. */
function readPrices(model: CatalogModel | undefined): Prices {
  const none = Object.fromEntries(FIELD_NAMES.map((field) => [field, isOptional(field) ? '' : '0.00'])) as Prices;
  const { steps, tiers, imageSteps, ...plain } = model ? renderListPrices(parsePrice(model.price)) : {};
  return { ...none, ...plain };
}

/** The rest of the present price. */
function readRules(model: CatalogModel | undefined): Pick<PriceScheduleBody['price'], 'steps' | 'tiers' | 'imageSteps'> {
  if (!model) return {};
  const { steps, tiers, imageSteps } = renderListPrices(parsePrice(model.price));
  return { ...(steps && { steps }), ...(tiers && { tiers }), ...(imageSteps && { imageSteps }) };
}
