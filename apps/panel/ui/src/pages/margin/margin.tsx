import { useLocation, useSearch } from 'wouter';
import type { MarginGroup, MarginRow, UsageMarginReply } from '../../../../src/shapes/billing.js';
import { useApi, withQuery } from '../../data/api.js';
import { monthAfter, readMonth, toMonth } from '../../data/months.js';
import { count, decimalsForAll } from '../../format/numbers.js';
import { ButtonLink } from '../../parts/button.js';
import { Money } from '../../parts/money.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { Segments } from '../../parts/segments.js';
import { Table } from '../../parts/table.js';
import { utcMonth } from '../../parts/time.js';

const GROUPS: Record<MarginGroup, string> = { model: 'Model', account: 'Account', upstream: 'Upstream', day: 'Day' };

/** Shows the charges of a month beside their cost, at the cost prices of the catalog. */
export function Margin() {
  const [path] = useLocation();
  const search = useSearch();
  const now = Date.now();
  const month = readMonth(search, now);
  const by = readGroup(search);
  const { data } = useApi<UsageMarginReply>(withQuery('/margin', { month, by }));
  const hrefWith = (change: { month?: string; by?: string }) => withQuery(path, { month, by, ...change });
  const amounts = data?.rows.flatMap(({ chargedPicoUsd, costPicoUsd }) => [chargedPicoUsd, costPicoUsd]);
  const decimals = decimalsForAll(amounts?.map(BigInt) ?? []);
  const money = (pico: string, key?: string) => <Money key={key} pico={pico} decimals={decimals} plain />;
  const total = data?.total;
  const hasUnpriced = total !== undefined && (total.unpricedRequests !== 0 || total.unpricedChargedPicoUsd !== '0');
  return (
    <Page
      title="Margin"
      about="What requests were charged, and what they cost at the cost of their route in the catalog on their day. Customers do not see it."
    >
      <Card
        flush
        title={utcMonth(`${month}-01`)}
        note={hasUnpriced ? 'unpriced requests have no cost in the catalog' : undefined}
        actions={
          <>
            <ButtonLink to={hrefWith({ month: monthAfter(month, -1) })}>Month before</ButtonLink>
            {month < toMonth(now) && <ButtonLink to={hrefWith({ month: monthAfter(month, 1) })}>Month after</ButtonLink>}
            <Segments
              label="Group by"
              value={by}
              options={Object.entries(GROUPS).map(([value, label]) => ({ value, label }))}
              linkTo={(value) => hrefWith({ by: value })}
            />
          </>
        }
      >
        <Table<MarginRow>
          caption={`Margin by ${GROUPS[by].toLowerCase()}`}
          rows={data?.rows}
          rowKey={({ accountId, ...row }) => accountId ?? readName(row)}
          empty={<Empty icon="usage" title="No requests in this month" />}
          columns={[
            { head: GROUPS[by], grow: true, cell: readName },
            { head: 'Requests', align: 'end', wide: true, cell: ({ requests }) => count(requests) },
            { head: 'Unpriced', align: 'end', wide: true, cell: ({ unpricedRequests }) => count(unpricedRequests) },
            { head: 'Charged', align: 'end', cell: ({ chargedPicoUsd }) => money(chargedPicoUsd) },
            { head: 'Cost', align: 'end', wide: true, cell: ({ costPicoUsd }) => money(costPicoUsd) },
            { head: 'Margin', align: 'end', cell: ({ marginPicoUsd }) => money(marginPicoUsd) },
          ]}
          foot={
            total && [
              'Total',
              count(total.requests),
              count(total.unpricedRequests),
              money(total.chargedPicoUsd, 'charged'),
              money(total.costPicoUsd, 'cost'),
              money(total.marginPicoUsd, 'margin'),
            ]
          }
        />
      </Card>
    </Page>
  );
}

function readGroup(search: string): MarginGroup {
  const by = new URLSearchParams(search).get('by');
  return by !== null && Object.hasOwn(GROUPS, by) ? (by as MarginGroup) : 'model';
}

function readName({ name, day, upstream, model }: MarginRow): string {
  return name ?? day ?? upstream ?? model ?? 'None known';
}
