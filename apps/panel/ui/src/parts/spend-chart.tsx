import { useMemo } from 'react';
import type { UsageRow } from '../../../src/shapes/billing.js';
import { type Filters, writeFilters } from '../data/filters.js';
import { useSession } from '../data/session.js';
import { formatMeasure, formatTicks } from '../data/usage-rows.js';
import { stackSeries } from './chart/series.js';
import { StackChart } from './chart/stack-chart.js';
import { utcHour, utcShortDay } from './time.js';

const STEP_MS = { hour: 3_600_000, day: 86_400_000 };

interface SpendChartProps {
  /** Undefined while loading. */
  usage: { rows: readonly UsageRow[]; from: number; to: number; step: 'hour' | 'day' } | undefined;
  /** Filters of the list of requests that a bar opens, besides its time. */
  filters?: Filters;
}

/** The cost over time. A bar opens its requests. */
export function SpendChart({ usage, filters = {} }: SpendChartProps) {
  const { linkTo } = useSession();
  const { rows, from, to, step = 'day' } = usage ?? {};
  const stack = useMemo(
    () =>
      rows &&
      from !== undefined &&
      to !== undefined &&
      stackSeries({
        rows: [...rows],
        readId: () => 'cost',
        measure: ({ costPicoUsd }) => BigInt(costPicoUsd),
        from,
        to,
        stepMs: STEP_MS[step],
      }),
    [rows, from, to, step],
  );
  return (
    <StackChart
      title="Spend over time"
      stack={stack || undefined}
      formatName={() => 'Cost'}
      format={(value) => formatMeasure(value, 'cost')}
      formatTicks={(values) => formatTicks(values, 'cost')}
      formatMoment={(at) => (step === 'day' ? utcShortDay(at) : `${utcShortDay(at)}, ${utcHour(at)}`)}
      formatShortMoment={step === 'day' ? utcShortDay : utcHour}
      linkTo={({ at }) => linkTo('requests') + writeFilters({ ...filters, ...barTime(at, STEP_MS[step]) })}
    />
  );
}

function barTime(at: number, stepMs: number): Filters {
  return { from: new Date(at).toISOString(), to: new Date(at + stepMs).toISOString() };
}
