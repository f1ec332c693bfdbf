import { useMemo } from 'react';
import { Link } from 'wouter';
import type { UsageRow } from '../../../../src/shapes/usage.js';
import { GROUPS, type Group } from '../../data/filters.js';
import { count } from '../../format/count.js';
import { decimalsForAll } from '../../format/usd.js';
import { Empty } from '../../parts/empty.js';
import { Money } from '../../parts/money.js';
import { Table } from '../../parts/table.js';
import { type GroupSum, sumRows, sumTotal } from './sums.js';

interface UsageTableProps {
  rows: UsageRow[] | undefined;
  group: Group;
  formatName: (id: string) => string;
  /** Address of the page with this group alone. */
  linkTo: (id: string) => string;
}

/** One row for each group, the most expensive first, and the sum. */
export function UsageTable({ rows, group, formatName, linkTo }: UsageTableProps) {
  const sums = useMemo(() => rows && sumRows(rows, group), [rows, group]);
  const total = sums && sumTotal(sums);
  const showsWrites = (total?.writtenTokens ?? 0) !== 0;
  const decimals = decimalsForAll(sums?.map(({ cost }) => cost) ?? []);
  return (
    <Table<GroupSum>
      caption={`Sums by ${GROUPS[group].toLowerCase()}`}
      rows={sums}
      rowKey={({ id }) => id}
      empty={
        <Empty icon="usage" title="No requests in this time">
          <p>Choose a longer time, or fewer filters.</p>
        </Empty>
      }
      columns={[
        { head: GROUPS[group], grow: true, cell: ({ id }) => <Link to={linkTo(id)}>{formatName(id)}</Link> },
        { head: 'Requests', align: 'end', cell: ({ requests }) => count(requests) },
        { head: 'Prompt tokens', align: 'end', wide: true, cell: ({ promptTokens }) => count(promptTokens) },
        { head: 'Cached', align: 'end', wide: true, cell: ({ cachedTokens }) => count(cachedTokens) },
        ...(showsWrites
          ? [{ head: 'Written to cache', align: 'end' as const, wide: true, cell: ({ writtenTokens }: GroupSum) => count(writtenTokens) }]
          : []),
        { head: 'Output tokens', align: 'end', wide: true, cell: ({ outputTokens }) => count(outputTokens) },
        { head: 'Cost', align: 'end', cell: ({ cost }) => <Money pico={cost} decimals={decimals} plain /> },
      ]}
      foot={
        total && [
          'Total',
          count(total.requests),
          count(total.promptTokens),
          count(total.cachedTokens),
          ...(showsWrites ? [count(total.writtenTokens)] : []),
          count(total.outputTokens),
          <Money key="cost" pico={total.cost} decimals={decimals} plain />,
        ]
      }
    />
  );
}
