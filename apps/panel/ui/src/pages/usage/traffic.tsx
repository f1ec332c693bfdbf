import { useMemo } from 'react';
import type { TrafficReply } from '../../../../src/shapes/overview.js';
import { useApi, withQuery } from '../../data/api.js';
import type { Filters, TimeSpan } from '../../data/filters.js';
import { isError, outcomeColours, outcomeName } from '../../data/outcomes.js';
import { useSession } from '../../data/session.js';
import { count, percent, shortCount } from '../../format/numbers.js';
import { stackSeries } from '../../parts/chart/series.js';
import { StackChart } from '../../parts/chart/stack-chart.js';
import { Card, Figure, Figures } from '../../parts/page.js';
import { utcHour, utcShortDay } from '../../parts/time.js';
import { Gaps, TimeFigure } from '../../parts/traffic.js';

/** Requests by outcome over time, refused ones included, and percentiles of their times. */
export function Traffic({ filters, span }: { filters: Filters; span: TimeSpan }) {
  const { account } = useSession();
  const question = {
    from: new Date(span.from).toISOString(),
    to: new Date(span.to).toISOString(),
    step: span.step,
    projectId: filters.project,
    keyId: filters.key,
    model: filters.model,
  };
  const { data } = useApi<TrafficReply>(withQuery(`/accounts/${account}/traffic`, question));
  const stack = useMemo(
    () =>
      data &&
      stackSeries({
        rows: data.rows.flatMap(({ start, outcomes }) => outcomes.map((outcome) => ({ ...(start && { start }), ...outcome }))),
        readId: outcomeName,
        measure: ({ requests }) => BigInt(requests),
        from: span.from,
        to: span.to,
        stepMs: span.stepMs,
        coloursFor: outcomeColours,
      }),
    [data, span],
  );
  const total = data?.total;
  const errors = total?.outcomes.filter(isError).reduce((sum, { requests }) => sum + requests, 0) ?? 0;
  return (
    <>
      <Figures>
        <Figure label="Errors" note={total && `${count(errors)} of ${count(total.requests)}, refusals included`}>
          {total && percent(total.requests > 0 ? errors / total.requests : 0)}
        </Figure>
        <TimeFigure label="First content" none="none streamed" percentiles={total?.firstContentMs} />
        <TimeFigure label="Whole reply" none="none completed" percentiles={total?.durationMs} />
      </Figures>
      <Card title="Traffic" note="by outcome, refused requests included">
        <StackChart
          title="Requests by outcome"
          stack={stack}
          formatName={(id) => id}
          format={(value) => shortCount(Number(value))}
          formatTicks={(values) => values.map((value) => shortCount(Number(value)))}
          formatMoment={(at) => (span.step === 'day' ? utcShortDay(at) : `${utcShortDay(at)}, ${utcHour(at)}`)}
          formatShortMoment={span.step === 'day' ? utcShortDay : utcHour}
        />
        <Gaps gaps={data?.gaps} />
      </Card>
    </>
  );
}
