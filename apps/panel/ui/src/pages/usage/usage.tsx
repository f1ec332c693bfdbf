import { useCallback, useMemo } from 'react';
import type { UsageRow } from '../../../../src/shapes/billing.js';
import { withQuery } from '../../data/api.js';
import { describeChild } from '../../data/child-words.js';
import {
  changeFilters,
  type Filters,
  GROUPS,
  type Group,
  MEASURES,
  type Measure,
  resolveBefore,
  type TimeSpan,
  useFilters,
  useSpan,
  writeFilters,
} from '../../data/filters.js';
import { REASONS, reasonColours, reasonName } from '../../data/outcomes.js';
import { useNames, useSession } from '../../data/session.js';
import { formatMeasure, formatTicks, NO_VALUE, readGroupId, readMeasure } from '../../data/usage-rows.js';
import { ButtonLink } from '../../parts/button.js';
import { type Bar, stackSeries } from '../../parts/chart/series.js';
import { StackChart } from '../../parts/chart/stack-chart.js';
import { FilterBar, RangePicker } from '../../parts/filter-bar.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { Segments } from '../../parts/segments.js';
import { utcHour, utcShortDay } from '../../parts/time.js';
import { ModelTable } from './model-table.js';
import { sumTotal } from './sums.js';
import { TagChoice } from './tag-choice.js';
import { Traffic } from './traffic.js';
import { UsageFigures } from './usage-figures.js';
import { UsageTable } from './usage-table.js';
import { useUsage } from './use-usage.js';

const FALLBACK = '7d';
const DAY_MS = 86_400_000;
const DAYS_MAX = 366;
/** Groups that are filters too. */
const FILTERS: readonly Group[] = ['model', 'project', 'key', 'upstream', 'ending'];
/** Groups that requests name themselves. They are read from the journal, for one account and at most these days. */
const ATTRIBUTED: readonly Group[] = ['user', 'tag', 'client', 'session', 'agent', 'child'];
const ATTRIBUTED_DAYS_MAX = 31;
/** Refused requests cost nothing, so that no usage has one. */
const SETTLED = Object.keys(REASONS).filter((reason) => reason !== 'refused');
/** Stands for the keys of the playground, which are one row. */
const PLAYGROUND = 'Playground';

/** Cost, requests and tokens over time, by a group, beside the time before. A bar opens its requests. */
export function Usage() {
  const { account, isPlatform, accountName, linkTo } = useSession();
  const { filters, hrefWith, change } = useFilters();
  const { projects, playgroundKeys, projectName, keyName } = useNames();
  const groups = (Object.keys(GROUPS) as Group[]).filter((name) => isOffered(name, account, isPlatform));
  const group = filters.group && groups.includes(filters.group) ? filters.group : 'model';
  const measure = filters.measure ?? 'cost';
  const span = useSpan(filters, FALLBACK);
  const isTooLong = ATTRIBUTED.includes(group) && span.to - span.from > ATTRIBUTED_DAYS_MAX * DAY_MS;
  const tags = useMemo(() => [...new Set(projects?.flatMap((project) => project.tags) ?? [])].sort(), [projects]);
  const tag = group === 'tag' ? (filters.tagName ?? tags[0]) : undefined;
  const isSplit = !isTooLong && (group !== 'tag' || tag !== undefined);
  const narrowed = {
    ...{ projectId: filters.project, keyId: filters.key, model: filters.model, upstream: filters.upstream, ending: filters.ending },
  };
  const ask = ({ from, to }: Pick<TimeSpan, 'from' | 'to'>) => ({
    ...{ from: new Date(from).toISOString(), to: new Date(to).toISOString(), tag: isSplit ? tag : undefined },
    ...narrowed,
  });
  const ofPlayground = useMemo(() => new Set(playgroundKeys?.map(({ keyId }) => keyId)), [playgroundKeys]);
  const merge = useCallback(
    (row: UsageRow): UsageRow => (row.keyId !== undefined && ofPlayground.has(row.keyId) ? { ...row, keyId: PLAYGROUND } : row),
    [ofPlayground],
  );
  const before = resolveBefore(filters, span, Date.now(), FALLBACK);
  const usage = useUsage(account, { group: isSplit ? group : undefined, question: ask(span), step: span.step, before: ask(before), merge });
  const { rows, isPlain } = usage;
  const stack = useMemo(
    () =>
      rows &&
      stackSeries({
        rows,
        readId: (row: UsageRow) => (isPlain ? NO_VALUE : readGroupId(row, group)),
        measure: (row: UsageRow) => readMeasure(row, measure),
        ...{ from: span.from, to: span.to, stepMs: span.stepMs },
        coloursFor: group === 'ending' && !isPlain ? reasonColours : undefined,
      }),
    [rows, isPlain, group, measure, span],
  );
  const formatName = (id: string) => {
    const names: Partial<Record<Group, (id: string) => string>> = {
      account: accountName,
      project: projectName,
      ending: reasonName,
      key: nameKey,
      child: describeChild,
    };
    return names[group]?.(id) ?? id;
  };
  const nameKey = (id: string) => (id === PLAYGROUND ? PLAYGROUND : keyName(id));
  /** The filters of the requests of a group. */
  const chooseFilter = (id: string): Partial<Filters> => {
    if (id === NO_VALUE) return {};
    if (group === 'user') return { user: id };
    if (group === 'tag') return { tag: `${tag}=${id}` };
    return isFilterValue(id, group) ? { [group]: id } : {};
  };
  const linkToRequests = (bar: Bar, id?: string) => {
    const time = { from: new Date(bar.at).toISOString(), to: new Date(bar.at + span.stepMs).toISOString() };
    return linkTo('requests') + writeFilters(changeFilters(filters, { ...time, ...(id && !isPlain && chooseFilter(id)), ...NO_CHOICES }));
  };
  const linkToGroup = (id: string): string | undefined => {
    if (group === 'account') return linkTo('usage', id) + writeFilters({ ...filters, group: undefined });
    if (id === NO_VALUE) return undefined;
    if (group === 'user' || group === 'tag') return linkTo('requests') + writeFilters({ ...filters, ...chooseFilter(id), ...NO_CHOICES });
    return isFilterValue(id, group) ? hrefWith({ [group]: id }) : undefined;
  };
  const title = `${MEASURES[measure]} by ${group === 'tag' && tag ? `tag ${tag}` : GROUPS[group].toLowerCase()}`;
  const choices = (
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
  );
  return (
    <Page
      title="Usage"
      actions={
        isSplit && (
          <ButtonLink
            to={withQuery(`/panel/v1/accounts/${account}/usage.csv`, { ...ask(span), groupBy: group, step: span.step })}
            icon="download"
            download
          >
            CSV
          </ButtonLink>
        )
      }
    >
      <FilterBar endings={SETTLED}>
        <RangePicker fallback={FALLBACK} names={['24h', '7d', '30d', 'month']} daysMax={DAYS_MAX} />
      </FilterBar>
      <UsageFigures total={usage.total} before={usage.before && sumTotal(usage.before)} beforeName={before.name} filters={narrowed} />
      <Card title={title} actions={choices}>
        {group === 'tag' && <TagChoice key={tag ?? ''} known={tags} value={tag ?? ''} onChoose={(tagName) => change({ tagName })} />}
        {isTooLong && (
          <Empty
            icon="usage"
            title={`At most ${ATTRIBUTED_DAYS_MAX} days`}
            text={`By ${GROUPS[group].toLowerCase()}, choose a shorter time.`}
          />
        )}
        {group === 'tag' && !tag && (
          <Empty
            icon="usage"
            title="Which tag?"
            text="Requests name tags by the header x-tollgate-tags: team=search, or by metadata that their project names."
          />
        )}
        {isSplit && (
          <StackChart
            title={title}
            stack={stack}
            formatName={isPlain ? () => 'All' : formatName}
            format={(value) => formatMeasure(value, measure)}
            formatTicks={(values) => formatTicks(values, measure)}
            formatMoment={(at) => (span.step === 'day' ? utcShortDay(at) : `${utcShortDay(at)}, ${utcHour(at)}`)}
            formatShortMoment={span.step === 'day' ? utcShortDay : utcHour}
            linkTo={linkToRequests}
          />
        )}
      </Card>
      {isSplit && (
        <Card flush title="Sums" note={note(span, before.name, usage)}>
          <UsageTable
            sums={usage.sums}
            total={usage.total}
            before={usage.before ?? undefined}
            group={group}
            formatName={formatName}
            linkTo={linkToGroup}
          />
        </Card>
      )}
      <ModelTable filters={filters} span={span} />
      <Traffic filters={filters} span={span} />
    </Page>
  );
}

/** Requests have none of them. */
const NO_CHOICES: Partial<Filters> = { group: undefined, measure: undefined, tagName: undefined, sort: undefined, sortModels: undefined };

function isFilterValue(id: string, group: Group): boolean {
  return id !== PLAYGROUND && id !== NO_VALUE && FILTERS.includes(group);
}

function isOffered(group: Group, account: string, isPlatform: boolean): boolean {
  if (group === 'account') return account === 'all';
  if (group === 'upstream') return isPlatform;
  return account !== 'all' || !ATTRIBUTED.includes(group);
}

function note({ from, to }: TimeSpan, beforeName: string, { isPlain, isCut }: { isPlain: boolean; isCut: boolean }): string {
  const times = `${utcShortDay(from)} to ${utcShortDay(to)}, UTC; change against the cost of ${beforeName}`;
  if (isCut) return `${times}. These are 10,000 of more: the CSV has them all`;
  return isPlain ? `${times}. There are too many to draw each` : times;
}
