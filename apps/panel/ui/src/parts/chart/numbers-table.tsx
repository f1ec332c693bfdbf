import { useState } from 'react';
import { Table } from '../table.js';
import styles from './numbers-table.module.css';
import type { Bar } from './series.js';
import type { StackChartProps } from './stack-chart-props.js';

/** The numbers of a chart, folded up. */
export function NumbersTable({ stack, title, formatName, format, formatMoment }: StackChartProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className={styles.numbers} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Numbers</summary>
      {isOpen && stack && (
        <Table<Bar>
          caption={title}
          rows={stack.bars.filter(({ total }) => total !== 0n)}
          rowKey={({ at }) => `${at}`}
          columns={[
            { head: 'Time (UTC)', cell: ({ at }) => formatMoment(at), grow: true },
            ...stack.series.map(({ id }, at) => ({
              head: id ? formatName(id) : 'Others',
              align: 'end' as const,
              cell: ({ values }: Bar) => format(values[at] ?? 0n),
            })),
            { head: 'Total', align: 'end', cell: ({ total }) => format(total) },
          ]}
        />
      )}
    </details>
  );
}
