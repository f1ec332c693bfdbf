import { type ReactNode, useMemo } from 'react';
import { Link } from 'wouter';
import { GROUPS, type Group, sortRows, useFilters } from '../../data/filters.js';
import { renderUnits, useUnits } from '../../data/units.js';
import { describeChange } from '../../data/usage-rows.js';
import { count, decimalsForAll } from '../../format/numbers.js';
import { Money } from '../../parts/money.js';
import { Empty } from '../../parts/page.js';
import { type Column, Table } from '../../parts/table.js';
import { type AgentSum, listAgentTree } from './agent-tree.js';
import type { GroupSum } from './sums.js';

interface UsageTableProps {
  /** Undefined while loading. */
  sums: GroupSum[] | undefined;
  total: GroupSum | undefined;
  /** Sums of the time before. Undefined while they load, or where they cannot be had. */
  before: GroupSum[] | undefined;
  group: Group;
  formatName: (id: string) => string;
  /** Address of the page with this group alone. Undefined: there is none. */
  linkTo: (id: string) => string | undefined;
}

/** The most expensive first. */
const FIRST_SORT = '-cost';
/** Deeper agents stand below one another. */
const DEPTH_MAX = 8;

/** One row for each group, the most expensive first unless they are sorted, and the sum. Agents are a tree unless they are sorted. */
export function UsageTable({ sums, total, before, group, formatName, linkTo }: UsageTableProps) {
  const { filters, change } = useFilters();
  const sort = filters.sort ?? FIRST_SORT;
  const isTree = group === 'agent' && sort === FIRST_SORT;
  const rows = useMemo(() => sums && listRows(sums, group), [sums, group]);
  const unitName = useUnits();
  const showsUnits = (total?.units ?? 0) !== 0;
  const showsWrites = (total?.writtenTokens ?? 0) !== 0;
  const decimals = decimalsForAll(sums?.map(({ cost }) => cost) ?? []);
  const earlier = useMemo(() => before && new Map(before.map(({ id, cost }) => [id, cost])), [before]);
  const describe = ({ id, cost }: GroupSum) => {
    if (!earlier) return '';
    return describeChange(cost, earlier.get(id) ?? 0n) ?? (cost > 0n ? 'new' : '');
  };
  const columns: (Column<AgentSum> & { foot: (total: GroupSum) => ReactNode })[] = [
    {
      head: GROUPS[group],
      grow: true,
      sort: 'name',
      cell: ({ id, depth }) => (
        <Name to={linkTo(id)} depth={isTree ? depth : 0}>
          {formatName(id)}
        </Name>
      ),
      foot: () => 'Total',
    },
    ...(group === 'agent'
      ? [{ head: 'Started by', wide: true, cell: ({ parentAgent }: GroupSum) => parentAgent ?? '', foot: () => '' }]
      : []),
    { head: 'Requests', align: 'end', sort: 'requests', cell: ({ requests }) => count(requests), foot: ({ requests }) => count(requests) },
    ...(
      [
        ['Prompt tokens', 'promptTokens'],
        ['Cached', 'cachedTokens'],
        ...(showsWrites ? ([['Written to cache', 'writtenTokens']] as const) : []),
        ['Output tokens', 'outputTokens'],
      ] as const
    ).map(([head, field]) => ({
      ...{ head, align: 'end' as const, wide: true, sort: field },
      cell: (row: GroupSum) => count(row[field]),
      foot: (row: GroupSum) => count(row[field]),
    })),
    ...(showsUnits
      ? [
          {
            ...{ head: 'Units', align: 'end' as const, wide: true, sort: 'units' },
            cell: ({ id, units }: GroupSum) => (units === 0 ? '' : renderUnits(units, group === 'model' ? unitName(id) : undefined)),
            foot: ({ units }: GroupSum) => count(units),
          },
        ]
      : []),
    {
      head: 'Cost',
      align: 'end',
      sort: 'cost',
      cell: ({ cost }) => <Money pico={cost} decimals={decimals} plain />,
      foot: ({ cost }) => <Money pico={cost} decimals={decimals} plain />,
    },
    ...(group === 'agent'
      ? [
          {
            head: 'With those it started',
            align: 'end' as const,
            cell: ({ treeCost }: AgentSum) => <Money pico={treeCost} decimals={decimals} plain />,
            foot: () => '',
          },
        ]
      : []),
    {
      head: 'Change',
      align: 'end',
      wide: true,
      cell: describe,
      foot: ({ cost }) => describeChange(cost, before?.reduce((sum, row) => sum + row.cost, 0n) ?? 0n) ?? '',
    },
  ];
  return (
    <Table<AgentSum>
      caption={`Sums by ${GROUPS[group].toLowerCase()}`}
      rows={rows && (isTree ? rows : sortRows(rows, sort, { name: ({ id }) => formatName(id), ...VALUES }))}
      sorting={{ by: sort, onSort: (by) => change({ sort: by }) }}
      rowKey={({ id }) => id}
      empty={<Empty icon="usage" title="No requests in this time" text="Choose a longer time, or fewer filters." />}
      columns={columns}
      foot={total && columns.map(({ foot }) => foot(total))}
    />
  );
}

const VALUES = {
  requests: ({ requests }: GroupSum) => requests,
  promptTokens: ({ promptTokens }: GroupSum) => promptTokens,
  cachedTokens: ({ cachedTokens }: GroupSum) => cachedTokens,
  writtenTokens: ({ writtenTokens }: GroupSum) => writtenTokens,
  outputTokens: ({ outputTokens }: GroupSum) => outputTokens,
  units: ({ units }: GroupSum) => units,
  cost: ({ cost }: GroupSum) => cost,
};

function listRows(sums: readonly GroupSum[], group: Group): AgentSum[] {
  return group === 'agent' ? listAgentTree(sums) : sums.map((sum) => ({ ...sum, depth: 0, treeCost: sum.cost }));
}

function Name({ to, depth, children }: { to: string | undefined; depth: number; children: string }) {
  const name = to === undefined ? children : <Link to={to}>{children}</Link>;
  return depth === 0 ? name : <span style={{ paddingInlineStart: `${Math.min(depth, DEPTH_MAX)}rem` }}>{name}</span>;
}
