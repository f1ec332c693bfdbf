import { Link } from 'wouter';
import type { Budget, KeyRow } from '../../../../src/shapes/billing.js';
import type { Overview as OverviewReply } from '../../../../src/shapes/overview.js';
import { useApi, withQuery } from '../../data/api.js';
import { collectMoney, shareSpent } from '../../data/budgets.js';
import { useFilters, useSpan, writeFilters } from '../../data/filters.js';
import { isError, outcomeFilters, outcomeName, reasonName } from '../../data/outcomes.js';
import { useNames, useSession } from '../../data/session.js';
import { readGroupId, renderTokens } from '../../data/usage-rows.js';
import { useBudgetTargets } from '../../data/use-budget-targets.js';
import { count, percent, plural } from '../../format/numbers.js';
import { BudgetUse } from '../../parts/budget-use.js';
import { Ranking } from '../../parts/chart/ranking.js';
import { RangePicker } from '../../parts/filter-bar.js';
import { Icon } from '../../parts/icon.js';
import { Money, OnePrecision } from '../../parts/money.js';
import { Card, Columns, Figure, Figures, Page } from '../../parts/page.js';
import { SpendChart } from '../../parts/spend-chart.js';
import { SPENDERS_MAX, SpendRanking } from '../../parts/spend-ranking.js';
import { Gaps, TimeFigure } from '../../parts/traffic.js';
import { BalanceFigures } from './balance-figures.js';
import styles from './overview.module.css';
import { Warnings } from './warnings.js';

const REFETCH_MS = 15_000;

/** The state of an account, or of the platform, at a glance. */
export function Overview() {
  const { account, accountName, project, linkTo } = useSession();
  const { filters } = useFilters();
  const span = useSpan(filters, '24h');
  const iso = { from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() };
  const overview = useApi<OverviewReply>(withQuery(`/accounts/${account}/overview`, iso), { refetchMs: REFETCH_MS });
  const { playgroundKeys, projectName, keyName } = useNames();
  const formatName = { model: (id: string) => id, project: projectName, key: keyName };
  const data = overview.data;
  const errors = data?.traffic.outcomes.filter(isError).reduce((sum, { requests }) => sum + requests, 0) ?? 0;
  const usageBy = (group: 'model' | 'project' | 'key', id?: string) => {
    // One project is known to be of the account of the page, and each model has a page.
    if (id && group === 'project' && account !== 'all') return linkTo(`projects/${id}`);
    if (id && group === 'model') return linkTo(`models/${encodeURIComponent(id)}`);
    return linkTo('usage') + writeFilters({ ...filters, group, ...(id && { [group]: id }) });
  };
  const frame = {
    title: account === 'all' ? 'All accounts' : (project?.name ?? accountName(account)),
    tab: 'Overview',
    actions: <RangePicker fallback="24h" names={['24h', '7d', '30d', 'month']} />,
  };
  // Warnings and first steps come before the figures: placeholders of figures would be pushed down by them.
  if (!data) return <Page {...frame} busy />;
  return (
    <Page {...frame}>
      <OnePrecision amounts={amountsIn(data)}>
        <Warnings warnings={data.warnings} />
        {data.balance && <BalanceFigures balance={data.balance} />}
        <Figures>
          <Figure label="Spent today" note={plural(data.today.requests, 'request')}>
            <Money pico={data.today.costPicoUsd} />
          </Figure>
          <Figure
            label="Spent this month"
            note={
              <>
                {plural(data.month.requests, 'request')} · <Link to={linkTo('usage')}>forecast</Link>
              </>
            }
          >
            <Money pico={data.month.costPicoUsd} />
          </Figure>
          <Figure label="Requests" note={`${renderTokens(data.total)} tokens`}>
            {count(data.total.requests)}
          </Figure>
          <Figure label="Errors" note={data && `${count(errors)} of ${count(data.traffic.requests)}, with refusals`}>
            {data && percent(data.traffic.requests > 0 ? errors / data.traffic.requests : 0)}
          </Figure>
          <TimeFigure label="First content" none="none streamed" percentiles={data?.traffic.firstContentMs} />
        </Figures>
        {data.total.requests === 0 && account !== 'all' && (
          <FirstSteps hasMoney={!data.warnings.some(({ kind }) => kind === 'balance-empty')} />
        )}
        <Card title="Spend" note={`by ${data.step}, UTC`} actions={<Link to={usageBy('model')}>Usage in detail</Link>}>
          <SpendChart usage={{ rows: data.series, from: Date.parse(data.from), to: Date.parse(data.to), step: data.step }} />
        </Card>
        <Columns>
          {/* One project is all that its people see. */}
          {SPENDERS.filter(({ group }) => !project || group !== 'project').map(({ group, title, field }) => (
            <Card key={group} title={title} note="by cost">
              <SpendRanking
                rows={data[field].filter(({ keyId }) => !isOfPlayground(keyId, playgroundKeys))}
                group={group}
                formatName={formatName[group]}
                linkTo={(id) => usageBy(group, id)}
              />
            </Card>
          ))}
          {data.budgets.length > 0 && (
            <Card title="Budgets" actions={<Link to={linkTo('budgets')}>All budgets</Link>}>
              <BudgetRanking budgets={data.budgets} />
            </Card>
          )}
          <Card title="Errors" note="by code, refusals included">
            <Ranking
              empty={data?.traffic.gaps.length ? 'None is recorded.' : 'No errors in this time.'}
              rows={data?.traffic.outcomes.filter(isError).map((outcome) => ({
                id: outcomeName(outcome),
                name: outcomeName(outcome),
                value: BigInt(outcome.requests),
                text: count(outcome.requests),
                href: linkTo('requests') + writeFilters({ ...filters, ...outcomeFilters(outcome) }),
              }))}
            />
            <Gaps gaps={data?.traffic.gaps} />
          </Card>
          <Card title="Endings" note="by number">
            <Ranking
              empty="No requests in this time."
              rows={data.byEnding.map((row) => ({
                id: readGroupId(row, 'ending'),
                name: reasonName(readGroupId(row, 'ending')),
                value: BigInt(row.requests),
                text: count(row.requests),
                href: linkTo('requests') + writeFilters({ ...filters, ending: readGroupId(row, 'ending') }),
              }))}
            />
          </Card>
          {data.processServices && (
            <Card title="Layout" note="of the replica that answers">
              <p>{describeLayout(data.processServices)}</p>
            </Card>
          )}
        </Columns>
      </OnePrecision>
    </Page>
  );
}

function describeLayout(services: string[]): string {
  return services.length > 1
    ? `One process runs ${new Intl.ListFormat('en').format(services)}.`
    : 'Split: the panel runs as a program of its own.';
}

/** Keys of the playground are no program's: no ranking has them. */
function isOfPlayground(keyId: string | undefined, playgroundKeys: readonly KeyRow[] = []): boolean {
  return playgroundKeys.some((key) => key.keyId === keyId);
}

/** Every amount that the page shows rounded. */
function amountsIn({ balance, today, month, budgets, byModel, byProject, byKey }: OverviewReply): (bigint | string)[] {
  const { available_pico_usd, topup_balance_pico_usd, plan_balance_pico_usd } = balance ?? {};
  return [
    ...[available_pico_usd, topup_balance_pico_usd, plan_balance_pico_usd].flatMap((amount) => amount ?? []),
    ...[today, month, ...[byModel, byProject, byKey].flatMap((rows) => rows.slice(0, SPENDERS_MAX))].map(({ costPicoUsd }) => costPicoUsd),
    ...collectMoney(budgets),
  ];
}

const SPENDERS = [
  { group: 'model', title: 'Models', field: 'byModel' },
  { group: 'project', title: 'Projects', field: 'byProject' },
  { group: 'key', title: 'Keys', field: 'byKey' },
] as const;

const BUDGETS_MAX = 5;

/** The budgets of which the largest share is spent. */
export function BudgetRanking({ budgets }: { budgets: Budget[] }) {
  const { targetName } = useBudgetTargets();
  const shown = budgets.toSorted((one, other) => shareSpent(other) - shareSpent(one)).slice(0, BUDGETS_MAX);
  return (
    <ol className={styles.budgets}>
      {shown.map((budget) => (
        <li key={budget.budgetId}>
          <BudgetUse budget={budget} name={targetName(budget)} />
        </li>
      ))}
    </ol>
  );
}

/** The way to the first request, for an account without requests in the chosen time. Has its height before it knows what is done. */
export function FirstSteps({ hasMoney }: { hasMoney: boolean }) {
  const { linkTo, may, mayOnPlatform } = useSession();
  const { projects, keys } = useNames();
  if (!may('keys')) return null;
  const steps = [
    {
      ...{
        name: 'Add money',
        about: `${describePayer(may('payments'), mayOnPlatform('money.write'))} Without money requests are refused.`,
      },
      ...{ page: may('money.read') ? 'money' : undefined, isDone: hasMoney },
    },
    { name: 'Create a project', about: 'It has its own limits and keys.', page: 'projects', isDone: projects && projects.length > 0 },
    {
      name: 'Create a key',
      about: 'The panel shows a line that calls a model with it.',
      page: 'keys',
      isDone: keys?.some(({ status }) => status === 'active'),
    },
    { name: 'Send a request', about: 'From your program or the playground. It appears here at once.', page: 'playground', isDone: false },
  ];
  const next = steps.findIndex(({ isDone }) => isDone === false);
  return (
    <Card title="First steps">
      <ol className={styles.steps}>
        {steps.map(({ name, about, page, isDone }, at) => (
          <li key={name} data-done={isDone || undefined}>
            <span className={styles.number}>{isDone ? <Icon name="check" /> : at + 1}</span>
            <div>
              <h3>{at === next && page ? <Link to={linkTo(page)}>{name}</Link> : name}</h3>
              <p>{about}</p>
            </div>
          </li>
        ))}
      </ol>
    </Card>
  );
}

/** Says who adds money. Only the page Money asks whether payments by card are on. */
function describePayer(mayPay: boolean, isOperator: boolean): string {
  if (isOperator) return 'You top the account up on the page Money.';
  return mayPay ? 'By card where the page Money offers it, or by the operator.' : 'The operator tops the account up.';
}
