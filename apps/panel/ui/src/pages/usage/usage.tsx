import { useMemo } from 'react';
import { Link } from 'wouter';
import type { UsageQueryReply, UsageRow } from '../../../../src/shapes/billing.js';
import type { TrafficReply } from '../../../../src/shapes/overview.js';
import { useApi, withQuery } from '../../data/api.js';
import {
  changeFilters,
  type Filters,
  GROUPS,
  type Group,
  MEASURES,
  type Measure,
  type TimeSpan,
  useFilters,
  useSpan,
  writeFilters,
} from '../../data/filters.js';
import { isError, outcomeColours, outcomeName, REASONS, reasonColours, reasonName } from '../../data/outcomes.js';
import { useNames, useSession } from '../../data/session.js';
import { formatMeasure, formatTicks, readGroupId, readMeasure } from '../../data/usage-rows.js';
import { count, decimalsForAll, percent, shortCount } from '../../format/numbers.js';
import { ButtonLink } from '../../parts/button.js';
import { type Bar, stackSeries } from '../../parts/chart/series.js';
import { StackChart } from '../../parts/chart/stack-chart.js';
import { FilterBar, RangePicker } from '../../parts/filter-bar.js';
import { Money } from '../../parts/money.js';
import { Card, Empty, Figure, Figures, Page } from '../../parts/page.js';
import { Segments } from '../../parts/segments.js';
import { Table } from '../../parts/table.js';
import { utcHour, utcShortDay } from '../../parts/time.js';
import { Gaps, TimeFigure } from '../../parts/traffic.js';
import { type GroupSum, sumRows, sumTotal } from './sums.js';

/** Cost, requests and tokens over time, by model, project, key, upstream or ending. A bar opens its requests. */
export function Usage() {
  const { account, linkTo, isPlatform } = useSession();
  const { filters, hrefWith } = useFilters();
  const span = useSpan(filters, '7d');
  const { playgroundKeys, projectName, keyName } = useNames();
  const group = filters.group ?? 'model';
  const measure = filters.measure ?? 'cost';
  const question = {
    from: new Date(span.from).toISOString(),
    to: new Date(span.to).toISOString(),
    groupBy: group,
    projectId: filters.project,
    keyId: filters.key,
    model: filters.model,
    upstream: filters.upstream,
    ending: filters.ending,
  };
  const { data } = useApi<UsageQueryReply>(withQuery(`/accounts/${account}/usage`, { ...question, step: span.step, limit: 1_000 }));
  const ofPlayground = useMemo(() => new Set(playgroundKeys?.map(({ keyId }) => keyId)), [playgroundKeys]);
  const rows = useMemo(() => data?.rows.map((row) => mergePlayground(row, ofPlayground)), [data, ofPlayground]);
  const nameKey = (id: string) => (id === PLAYGROUND ? PLAYGROUND : keyName(id));
  const formatName = (id: string) => ({ project: projectName, key: nameKey, model: same, upstream: same, ending: reasonName })[group](id);
  const stack = useMemo(
    () =>
      rows &&
      stackSeries({
        rows,
        readId: (row: UsageRow) => readGroupId(row, group),
        measure: (row: UsageRow) => readMeasure(row, measure),
        from: span.from,
        to: span.to,
        stepMs: span.stepMs,
        coloursFor: group === 'ending' ? reasonColours : undefined,
      }),
    [rows, group, measure, span],
  );
  const linkToRequests = (bar: Bar, id?: string) => {
    const time = { from: new Date(bar.at).toISOString(), to: new Date(bar.at + span.stepMs).toISOString() };
    const more: Partial<Filters> = { ...time, ...(id && id !== PLAYGROUND && { [group]: id }), group: undefined, measure: undefined };
    return linkTo('requests') + writeFilters(changeFilters(filters, more));
  };
  const groups = (Object.keys(GROUPS) as Group[]).filter((name) => name !== 'upstream' || isPlatform);
  return (
    <Page
      title="Usage"
      actions={
        <ButtonLink to={withQuery(`/panel/v1/accounts/${account}/usage.csv`, { ...question, step: span.step })} icon="download" download>
          CSV
        </ButtonLink>
      }
    >
      <FilterBar endings={SETTLED}>
        <RangePicker fallback="7d" names={['24h', '7d', '30d', 'month']} />
      </FilterBar>
      <Card
        title={`${MEASURES[measure]} by ${GROUPS[group].toLowerCase()}`}
        actions={
          <>
            <Segments
              label="Measure"
              value={measure}
              options={Object.entries(MEASURES).map(([value, label]) => ({ value, label }))}
              linkTo={(value) => hrefWith({ measure: value as Measure })}
            />
            <Segments
              label="Group by"
              value={group}
              options={groups.map((value) => ({ value, label: GROUPS[value] }))}
              linkTo={(value) => hrefWith({ group: value as Group })}
            />
          </>
        }
      >
        <StackChart
          title={`${MEASURES[measure]} by ${GROUPS[group].toLowerCase()}`}
          stack={stack}
          formatName={formatName}
          format={(value) => formatMeasure(value, measure)}
          formatTicks={(values) => formatTicks(values, measure)}
          formatMoment={(at) => (span.step === 'day' ? utcShortDay(at) : `${utcShortDay(at)}, ${utcHour(at)}`)}
          formatShortMoment={span.step === 'day' ? utcShortDay : utcHour}
          linkTo={linkToRequests}
        />
      </Card>
      <Card flush title="Sums" note={`${utcShortDay(span.from)} to ${utcShortDay(span.to)}, UTC`}>
        <UsageTable rows={rows} group={group} formatName={formatName} linkTo={(id) => hrefWith({ [group]: id })} />
      </Card>
      <Traffic filters={filters} span={span} />
    </Page>
  );
}

/** Refused requests cost nothing, so that no usage has one. */
const SETTLED = Object.keys(REASONS).filter((reason) => reason !== 'refused');

/** Stands for the keys of the playground, which are one row. */
const PLAYGROUND = 'Playground';

function mergePlayground(row: UsageRow, ofPlayground: ReadonlySet<string>): UsageRow {
  return row.keyId !== undefined && ofPlayground.has(row.keyId) ? { ...row, keyId: PLAYGROUND } : row;
}

function same(id: string): string {
  return id;
}

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
      empty={<Empty icon="usage" title="No requests in this time" text="Choose a longer time, or fewer filters." />}
      columns={[
        {
          head: GROUPS[group],
          grow: true,
          cell: ({ id }) => (id === PLAYGROUND && group === 'key' ? PLAYGROUND : <Link to={linkTo(id)}>{formatName(id)}</Link>),
        },
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
