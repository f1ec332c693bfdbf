import type { Bar, Stack } from './series.js';

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
  linkTo?: (bar: Bar, id?: string) => string;
}
