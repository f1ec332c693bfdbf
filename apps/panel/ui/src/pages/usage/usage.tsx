import { useMemo } from 'react';
import type { UsageQueryReply, UsageRow } from '../../../../src/shapes/usage.js';
import { withQuery } from '../../data/api.js';
import { changeFilters, type Filters, GROUPS, type Group, MEASURES, type Measure, writeFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { reasonColours, reasonName } from '../../data/settle-reasons.js';
import { formatMeasure, formatTicks, readGroupId, readMeasure } from '../../data/usage-rows.js';
import { useApi } from '../../data/use-api.js';
import { useFilters, useSpan } from '../../data/use-filters.js';
import { useNames } from '../../data/use-names.js';
import { ButtonLink } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { type Bar, stackSeries } from '../../parts/chart/series.js';
import { StackChart } from '../../parts/chart/stack-chart.js';
import { FilterBar } from '../../parts/filter-bar.js';
import { Page } from '../../parts/page.js';
import { RangePicker } from '../../parts/range-picker.js';
import { Segments } from '../../parts/segments.js';
import { utcHour, utcShortDay } from '../../parts/time.js';
import { Traffic } from './traffic.js';
import styles from './usage.module.css';
import { UsageTable } from './usage-table.js';

/** Cost, requests and tokens over time, by model, project, key, upstream or ending. A bar opens its requests. */
export function Usage() {
  const { account, linkTo, isPlatform } = useSession();
  const { filters, hrefWith } = useFilters();
  const span = useSpan(filters, '7d');
  const { projectName, keyName } = useNames();
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
  const usage = useApi<UsageQueryReply>(withQuery(`/accounts/${account}/usage`, { ...question, step: span.step, limit: 1_000 }));
  const formatName = (id: string) => ({ project: projectName, key: keyName, model: same, upstream: same, ending: reasonName })[group](id);
  const { data } = usage;
  const stack = useMemo(
    () =>
      data &&
      stackSeries({
        rows: data.rows,
        readId: (row: UsageRow) => readGroupId(row, group),
        measure: (row: UsageRow) => readMeasure(row, measure),
        from: span.from,
        to: span.to,
        stepMs: span.stepMs,
        coloursFor: group === 'ending' ? reasonColours : undefined,
      }),
    [data, group, measure, span],
  );
  const linkToRequests = (bar: Bar, id?: string) => {
    const time = { from: new Date(bar.at).toISOString(), to: new Date(bar.at + span.stepMs).toISOString() };
    const more: Partial<Filters> = { ...time, ...(id && { [group]: id }), group: undefined, measure: undefined };
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
      <FilterBar>
        <RangePicker fallback="7d" names={['24h', '7d', '30d', 'month']} />
      </FilterBar>
      <Card
        title={`${MEASURES[measure]} by ${GROUPS[group].toLowerCase()}`}
        actions={
          <div className={styles.choices}>
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
          </div>
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
        <UsageTable rows={data?.rows} group={group} formatName={formatName} linkTo={(id) => hrefWith({ [group]: id })} />
      </Card>
      <Traffic filters={filters} span={span} />
    </Page>
  );
}

function same(id: string): string {
  return id;
}
