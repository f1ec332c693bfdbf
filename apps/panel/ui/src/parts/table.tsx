import type { MouseEvent, ReactNode } from 'react';
import { Button } from './button.js';
import { classNames } from './class-names.js';
import { ZoneMark } from './moment.js';
import { Skeleton } from './page.js';
import styles from './table.module.css';

export interface Column<Row> {
  /** Empty for a column of buttons. A line break in it is shown. */
  head: ReactNode;
  /** Names the column where its head is no text. */
  key?: string;
  cell: (row: Row) => ReactNode;
  /** Numbers stand at the end, so that their digits stand below one another. */
  align?: 'end';
  /** Left out on narrow screens. */
  wide?: boolean;
  /** Takes the space that is left, and cuts a long text off. */
  grow?: boolean;
  /** Breaks a long text into lines instead. */
  wrap?: boolean;
  /** Name by which the rows can be sorted. */
  sort?: string;
  /** Its cells are moments: the head names their zone. */
  isTime?: boolean;
}

interface Sorting {
  /** Name of a column; `-` before it: the largest first. */
  by: string;
  onSort: (by: string) => void;
}

interface TableProps<Row> {
  /** Read by screen readers. */
  caption: string;
  columns: Column<Row>[];
  /** Undefined while loading: rows of the same height stand in. */
  rows: Row[] | undefined;
  rowKey: (row: Row) => string;
  /** In place of a table without rows. */
  empty?: ReactNode;
  /** Rows that stand in while loading. */
  placeholders?: number;
  /** Cells of the last row, which has the sums. */
  foot?: ReactNode[];
  isMuted?: (row: Row) => boolean;
  sorting?: Sorting;
  /** True: a click anywhere in a row opens its first link. */
  opens?: boolean;
  /** True: the columns stand closer, because there are many. */
  dense?: boolean;
}

const PLACEHOLDERS = Array.from({ length: 20 }, (_, at) => `placeholder ${at}`);

export function Table<Row>({
  caption,
  columns,
  rows,
  rowKey,
  empty,
  placeholders = 6,
  foot,
  isMuted,
  sorting,
  opens,
  dense,
}: TableProps<Row>) {
  if (rows?.length === 0 && empty) return empty;
  const cellProps = ({ align, wide, grow, wrap }: Column<Row>) => ({
    'data-align': align,
    className: classNames(wide && styles.wide, grow && styles.grow, wrap && styles.wrap),
  });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll it.
    <section className={styles.frame} tabIndex={0} aria-label={caption}>
      <table className={classNames(styles.table, dense && styles.dense)} aria-busy={!rows}>
        <caption className={styles.caption}>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) =>
              column.head ? (
                <th key={columnKey(column)} scope="col" {...cellProps(column)} aria-sort={findOrder(column.sort, sorting)}>
                  {column.sort && sorting ? <SortButton column={column.sort} text={column.head} sorting={sorting} /> : column.head}
                  {column.isTime && (
                    <>
                      {' '}
                      <ZoneMark />
                    </>
                  )}
                </th>
              ) : (
                <td key={columnKey(column)} {...cellProps(column)} />
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {rows
            ? rows.map((row) => (
                <tr
                  key={rowKey(row)}
                  className={classNames(isMuted?.(row) && styles.muted, opens && styles.opens)}
                  onClick={opens ? openRow : undefined}
                >
                  {columns.map((column) => (
                    <td key={columnKey(column)} {...cellProps(column)}>
                      {column.cell(row)}
                    </td>
                  ))}
                </tr>
              ))
            : PLACEHOLDERS.slice(0, placeholders).map((placeholder) => (
                <tr key={placeholder}>
                  {columns.map((column) => (
                    <td key={columnKey(column)} {...cellProps(column)}>
                      <Skeleton width={column.grow ? '8rem' : '4rem'} />
                    </td>
                  ))}
                </tr>
              ))}
        </tbody>
        {foot && (
          <tfoot>
            <tr>
              {columns.map((column, at) => (
                <td key={columnKey(column)} {...cellProps(column)}>
                  {foot[at]}
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </section>
  );
}

/** Opens the link of a row, as a click on the link itself does. A selection of text, and other controls of the row, stay what they are. */
function openRow(event: MouseEvent<HTMLTableRowElement>): void {
  const isControl = (event.target as Element).closest('a, button, input, select, label') !== null;
  const link = event.currentTarget.querySelector('a');
  if (isControl || !link || !document.getSelection()?.isCollapsed) return;
  if (event.ctrlKey || event.metaKey) window.open(link.href, '_blank', 'noopener');
  else link.click();
}

function columnKey<Row>({ head, key }: Column<Row>): string {
  return key ?? `${head}`;
}

function findOrder(column: string | undefined, sorting: Sorting | undefined): 'ascending' | 'descending' | undefined {
  if (column === undefined || !sorting) return undefined;
  if (sorting.by === column) return 'ascending';
  return sorting.by === `-${column}` ? 'descending' : undefined;
}

/** Sorts by a column, the largest first; again: the smallest first. */
function SortButton({ column, text, sorting: { by, onSort } }: { column: string; text: ReactNode; sorting: Sorting }) {
  return (
    <button type="button" className={styles.sort} onClick={() => onSort(by === `-${column}` ? column : `-${column}`)}>
      {text}
    </button>
  );
}

/** A column with a quiet button in each row, or in those of which `has` is true. `label`: its name where the text alone is not clear. */
export function buttonColumn<Row>(
  text: string,
  onClick: (row: Row) => void,
  { has = () => true, label }: { has?: (row: Row) => boolean; label?: (row: Row) => string } = {},
): Column<Row> {
  const button = (row: Row) => (
    <Button look="quiet" aria-label={label?.(row)} onClick={() => onClick(row)}>
      {text}
    </Button>
  );
  return { head: '', align: 'end', cell: (row) => has(row) && button(row) };
}

/** A main text with a fainter one below. `narrow`: the second one is for narrow screens, which have no column for it. */
export function TwoLines({ main, more, narrow }: { main: ReactNode; more: ReactNode; narrow?: boolean }) {
  return (
    <div className={styles.lines}>
      <div className={styles.main}>{main}</div>
      <div className={classNames(styles.more, narrow && styles.narrow)}>{more}</div>
    </div>
  );
}
