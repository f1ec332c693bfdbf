import { useState } from 'react';
import type { CatalogGetReply, ModelListReply, PriceListReply, ScheduledPrice } from '../../../../src/shapes/models.js';
import { useSession } from '../../data/session.js';
import { useApi } from '../../data/use-api.js';
import { useNow } from '../../data/use-filters.js';
import { usdPerMillion } from '../../format/usd.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Confirm } from '../../parts/confirm.js';
import { Empty } from '../../parts/empty.js';
import { Moment } from '../../parts/moment.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { duration } from '../../parts/time.js';
import { otherPrices } from './differences.js';
import { SchedulePrice } from './schedule-price.js';

const REFETCH_MS = 5_000;

/** Prices that wait for their time, beside the present ones. */
export function ScheduledPriceList() {
  const { mayOnPlatform } = useSession();
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
            <Empty icon="models" title="No price is scheduled">
              <p>A scheduled price takes effect at its time. Requests that were held before keep theirs.</p>
              {newPrice}
            </Empty>
          }
          columns={[
            { head: 'Model', grow: true, cell: ({ model, price }) => <TwoLines main={model} more={otherPrices(price).join(' · ')} /> },
            {
              head: 'Takes effect',
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
