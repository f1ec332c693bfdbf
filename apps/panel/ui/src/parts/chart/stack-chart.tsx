import { Group } from '@visx/group';
import { scaleBand, scaleLinear } from '@visx/scale';
import { Bar } from '@visx/shape';
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { Skeleton } from '../page.js';
import { Table } from '../table.js';
import { type Bar as ChartBar, chooseTicks, nextBar, ratio, type Stack, stackParts } from './series.js';
import styles from './stack-chart.module.css';

const HEIGHT = 232;
const MARGIN = { top: 12, right: 0, bottom: 24, left: 56 };
/** Pixels between a text of the axis and the bars, and of one of its digits. */
const TICK_GAP = 10;
const TICK_DIGIT = 8;
/** Pixels that a label below the bars needs. */
const LABEL_WIDTH = 64;

/**
 * Stacked bars, each a link, with a legend that shows the values of the bar under the pointer or in focus, and a table of all numbers. The
 * bars are one stop of the Tab key; arrow keys move along them.
 */
export function StackChart(props: StackChartProps) {
  const { stack, title, linkTo } = props;
  const [active, setActive] = useState<number>();
  const [stop, setStop] = useState<number>();
  const bars = stack?.bars.length ?? 0;
  const [frame, width] = useWidth();
  const bar = active === undefined ? undefined : stack?.bars[active];
  return (
    <figure className={styles.chart}>
      <Legend {...props} bar={bar} />
      <div ref={frame} className={styles.frame}>
        {width > 0 && (
          <svg
            width={width}
            height={HEIGHT}
            role={linkTo && 'group'}
            aria-label={title}
            onPointerLeave={() => setActive(undefined)}
            onKeyDown={moveFocus}
          >
            <Drawing
              {...props}
              stack={stack ?? EMPTY}
              width={width}
              active={active}
              // The newest bar at first.
              stop={Math.min(stop ?? bars, bars - 1)}
              onActive={setActive}
              onStop={setStop}
            />
          </svg>
        )}
      </div>
      <NumbersTable {...props} />
    </figure>
  );
}

const EMPTY: Stack = { series: [], bars: [], max: 0n };

interface DrawingProps extends StackChartProps {
  stack: Stack;
  width: number;
  active: number | undefined;
  /** The bar that the Tab key stops at. */
  stop: number;
  onActive: (at: number | undefined) => void;
  onStop: (at: number) => void;
}

/** Moves the focus along the bars. */
function moveFocus(event: KeyboardEvent<SVGSVGElement>): void {
  const links = [...event.currentTarget.querySelectorAll<SVGAElement>('a[data-bar]')];
  const next = nextBar(event.key, links.indexOf(document.activeElement as SVGAElement), links.length);
  if (next === undefined) return;
  event.preventDefault();
  links[next]?.focus();
}

function Drawing(props: DrawingProps) {
  const { stack, width, active, stop, onActive, onStop, formatTicks, formatShortMoment } = props;
  const ticks = chooseTicks(stack.max);
  const tickTexts = formatTicks(ticks);
  const top = ticks.at(-1) ?? 0n;
  // Small amounts have many digits.
  const left = Math.max(MARGIN.left, TICK_GAP + TICK_DIGIT * Math.max(...tickTexts.map(({ length }) => length)));
  const inner = { width: Math.max(0, width - left - MARGIN.right), height: HEIGHT - MARGIN.top - MARGIN.bottom };
  const x = scaleBand({ domain: stack.bars.map((_, at) => at), range: [0, inner.width], paddingInner: 0.25, paddingOuter: 0.1 });
  const y = scaleLinear({ domain: [0, 1], range: [inner.height, 0] });
  const labelEvery = Math.max(1, Math.ceil(stack.bars.length / Math.max(1, Math.floor(inner.width / LABEL_WIDTH))));
  return (
    <Group left={left} top={MARGIN.top}>
      {ticks.map((tick, at) => (
        <g key={`${tick}`} className={styles.tick}>
          <line x1={0} x2={inner.width} y1={y(ratio(tick, top))} y2={y(ratio(tick, top))} />
          <text x={-TICK_GAP} y={y(ratio(tick, top))} dy="0.32em" textAnchor="end">
            {tickTexts[at]}
          </text>
        </g>
      ))}
      {stack.bars.map((bar, at) => (
        // biome-ignore lint/a11y/noStaticElementInteractions: the pointer only chooses the values of the legend; the links carry the focus.
        <g
          key={bar.at}
          className={styles.bar}
          data-active={active === at || undefined}
          onPointerEnter={() => onActive(at)}
          onFocus={() => {
            onActive(at);
            onStop(at);
          }}
          onBlur={() => onActive(undefined)}
        >
          <WholeBar
            {...props}
            bar={bar}
            isStop={at === stop}
            left={(x(at) ?? 0) - x.step() * 0.125}
            width={x.step()}
            height={inner.height}
          />
          {stackParts(bar, top).map(({ series, from, to }) => (
            <Part key={series} {...props} bar={bar} series={series}>
              <Bar x={x(at)} width={x.bandwidth()} y={y(to)} height={Math.max(1, y(from) - y(to) - 1)} rx={1.5} />
            </Part>
          ))}
          {at % labelEvery === 0 && (
            <Label middle={(x(at) ?? 0) + x.bandwidth() / 2} end={inner.width} y={inner.height + 18}>
              {formatShortMoment(bar.at)}
            </Label>
          )}
        </g>
      ))}
    </Group>
  );
}

/** The time below a bar: in its middle, or where that would be cut off, up to the edge. */
function Label({ middle, end, y, children }: { middle: number; end: number; y: number; children: string }) {
  const isCut = middle + LABEL_WIDTH / 3 > end;
  return (
    <text className={styles.moment} x={isCut ? end : middle} y={y} textAnchor={isCut ? 'end' : 'middle'}>
      {children}
    </text>
  );
}

interface WholeBarProps extends StackChartProps {
  bar: ChartBar;
  /** True for the bar that the Tab key stops at. */
  isStop: boolean;
  left: number;
  width: number;
  height: number;
}

/** The column of a bar, from the axis to the top: its link. */
function WholeBar({ bar, isStop, left, width, height, formatMoment, format, linkTo }: WholeBarProps) {
  const area = <rect className={styles.area} x={left} width={width} y={0} height={height} />;
  if (!linkTo) return area;
  return (
    <Link to={linkTo(bar)} data-bar="" tabIndex={isStop ? 0 : -1} aria-label={`${formatMoment(bar.at)}: ${format(bar.total)}`}>
      {area}
    </Link>
  );
}

/** A part of a bar. Keyboards reach the bar; links of its parts are for pointers. */
function Part({
  stack,
  bar,
  series,
  formatName,
  formatMoment,
  linkTo,
  children,
}: DrawingProps & { bar: ChartBar; series: number; children: ReactNode }) {
  const { id = '', colour } = stack.series[series] ?? {};
  const part = (
    <g className={styles.part} data-series={colour}>
      {children}
    </g>
  );
  if (!linkTo || !id) return part;
  return (
    <Link to={linkTo(bar, id)} tabIndex={-1} aria-label={`${formatName(id)}, ${formatMoment(bar.at)}`}>
      {part}
    </Link>
  );
}

/** The width of an element in whole pixels, 0 before the first layout. */
function useWidth() {
  const element = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width] as const;
}

/** Names and colours of the series with their values: of `bar`, or of the whole time. */
function Legend({ stack, formatName, format, formatMoment, bar }: StackChartProps & { bar: ChartBar | undefined }) {
  const total = bar?.total ?? stack?.bars.reduce((sum, { total }) => sum + total, 0n);
  return (
    <ul className={styles.legend}>
      <li className={styles.total}>
        <span className={styles.name}>{bar ? formatMoment(bar.at) : 'Total'}</span>
        <span className={styles.value}>{total === undefined ? <Skeleton width="4rem" /> : format(total)}</span>
      </li>
      {(stack?.series.length ?? 0) > 1 &&
        stack?.series.map(({ id, colour }, at) => (
          <li key={id} data-series={colour}>
            <span className={styles.name}>{id ? formatName(id) : 'Others'}</span>
            <span className={styles.value}>
              {format(bar ? (bar.values[at] ?? 0n) : stack.bars.reduce((sum, { values }) => sum + (values[at] ?? 0n), 0n))}
            </span>
          </li>
        ))}
    </ul>
  );
}

/** The numbers of a chart, folded up. */
function NumbersTable({ stack, title, formatName, format, formatMoment }: StackChartProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className={styles.numbers} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Numbers</summary>
      {isOpen && stack && (
        <Table<ChartBar>
          caption={title}
          rows={stack.bars.filter(({ total }) => total !== 0n)}
          rowKey={({ at }) => `${at}`}
          columns={[
            { head: 'Time (UTC)', cell: ({ at }) => formatMoment(at), grow: true },
            ...stack.series.map(({ id }, at) => ({
              head: id ? formatName(id) : 'Others',
              align: 'end' as const,
              cell: ({ values }: ChartBar) => format(values[at] ?? 0n),
            })),
            { head: 'Total', align: 'end', cell: ({ total }) => format(total) },
          ]}
        />
      )}
    </details>
  );
}

export interface StackChartProps {
  /** Undefined while loading: the empty frame has the same height. */
  stack: Stack | undefined;
  title: string;
  formatName: (id: string) => string;
  /** A value in the legend and the table, and the values of the axis. */
  format: (value: bigint) => string;
  formatTicks: (values: bigint[]) => string[];
  /** The name of a bar's hour or day, and its short form below the bar. */
  formatMoment: (at: number) => string;
  formatShortMoment: (at: number) => string;
  /** Page with what is behind a bar, or behind one of its parts. */
  linkTo?: (bar: ChartBar, id?: string) => string;
}
