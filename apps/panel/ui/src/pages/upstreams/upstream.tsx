import { useMemo, useState } from 'react';
import { Link, useParams } from 'wouter';
import type { UsageQueryReply, UsageRow } from '../../../../src/shapes/billing.js';
import type { CatalogGetReply, UpstreamRoute, UpstreamsReply } from '../../../../src/shapes/catalog.js';
import { useApi, withQuery } from '../../data/api.js';
import { useFilters, useSpan, writeFilters } from '../../data/filters.js';
import { reasonColours, reasonName } from '../../data/outcomes.js';
import { useSession } from '../../data/session.js';
import { readGroupId } from '../../data/usage-rows.js';
import { count, plural, shortCount } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Button, ButtonLink } from '../../parts/button.js';
import { stackSeries } from '../../parts/chart/series.js';
import { StackChart } from '../../parts/chart/stack-chart.js';
import { RangePicker } from '../../parts/filter-bar.js';
import { Card, Empty, Fact, Figure, Figures, Page } from '../../parts/page.js';
import { utcHour, utcShortDay } from '../../parts/time.js';
import { RouteList, type RouteRow, STATES, Troubles } from './route-list.js';
import { TestUpstream } from './test-upstream.js';
import { collectRoutes, describeKey, type UpstreamFacts, worstState } from './upstream-state.js';
import styles from './upstreams.module.css';

const REFETCH_MS = 5_000;

/** One upstream: where it is, whether its key is there, its routes on each replica, and how its requests ended. */
export function UpstreamPage() {
  const params = useParams<{ upstream: string }>();
  const upstream = decodeURIComponent(params.upstream ?? '');
  const { linkTo, mayOnPlatform } = useSession();
  const { data } = useApi<UpstreamsReply>('/upstreams', { refetchMs: REFETCH_MS });
  const [tested, setTested] = useState<{ model: string | undefined }>();
  const testRoute = ({ upstreamModel }: UpstreamRoute) => setTested({ model: upstreamModel });
  const parent = { name: 'Upstreams', href: linkTo('upstreams') };
  if (!data) return <Page title={upstream} parent={parent} busy />;
  const rows = collectRoutes(data, ({ route }) => route.upstream === upstream);
  const facts = data.replicas.flatMap((replica) => replica.upstreams?.filter((one) => one.upstream === upstream) ?? []);
  const [first] = rows;
  if (!first && facts.length === 0) {
    return (
      <Page title={upstream} parent={parent}>
        <Empty
          icon="upstreams"
          title={data.replicas.length === 0 ? 'No replica of the inference-proxy answers' : 'No replica calls such an upstream'}
          text="It is in no enabled entry of the catalog, or its catalog has not reached them yet."
        />
      </Page>
    );
  }
  return (
    <Page
      title={upstream}
      parent={parent}
      actions={
        mayOnPlatform('upstreams') && (
          <Button look="primary" onClick={() => setTested({ model: first?.route.upstreamModel })}>
            Test
          </Button>
        )
      }
    >
      <State rows={rows} />
      <Card title="Entry" note="as the replicas call it">
        <Entry facts={facts} />
      </Card>
      <Card flush title="Routes" note={`on ${plural(data.replicas.length, 'replica')}; counts since their start`}>
        <RouteList
          caption={`Routes to ${upstream}`}
          rows={rows}
          withReplica={data.replicas.length > 1}
          onTest={mayOnPlatform('upstreams') ? testRoute : undefined}
          empty={
            <Empty icon="upstreams" title="No model has a route to it" text="Clients call an upstream by a model of the catalog.">
              <AddModel upstream={upstream} />
            </Empty>
          }
        />
        <Troubles routes={rows.map(({ route }) => route)} />
      </Card>
      <History upstream={upstream} />
      {tested && <TestUpstream upstream={upstream} model={tested.model} onClose={() => setTested(undefined)} />}
    </Page>
  );
}

/** Drafts a model with a route to the upstream in the catalog file, where the person may edit it. */
function AddModel({ upstream }: { upstream: string }) {
  const { linkTo, mayOnPlatform } = useSession();
  const { data } = useApi<CatalogGetReply>(mayOnPlatform('catalog') ? '/catalog' : null, { handles: ['not_found'] });
  if (!data?.editing || data.yaml === null) return null;
  return <ButtonLink to={withQuery(linkTo('models'), { tab: 'file', upstream, model: 'name-at-the-upstream' })}>Add a model</ButtonLink>;
}

function State({ rows }: { rows: RouteRow[] }) {
  const worst = worstState(rows);
  const sum = (of: (route: UpstreamRoute) => number) => rows.reduce((total, { route }) => total + of(route), 0);
  const calls = sum((route) => route.calls);
  const errors = sum((route) => Object.values(route.errors).reduce((total, times) => total + times, 0));
  return (
    <Figures>
      <Figure label="State" note={worst ? worst.note : 'no model has a route to it'}>
        {worst ? <Badge tone={STATES[worst.state].tone}>{STATES[worst.state].name}</Badge> : '–'}
      </Figure>
      <Figure label="In flight" note="calls under way">
        {count(sum(({ inFlight }) => inFlight))}
      </Figure>
      <Figure label="Calls" note="since the replicas started">
        {count(calls)}
      </Figure>
      <Figure label="Errors" note="since the replicas started">
        {count(errors)}
      </Figure>
    </Figures>
  );
}

function Entry({ facts }: { facts: UpstreamFacts[] }) {
  const [first] = facts;
  if (!first) return <p>The replicas are of a version that does not say it.</p>;
  return (
    <dl className={styles.facts}>
      <Fact name="URL">
        <code>{first.baseUrl}</code>
      </Fact>
      <Fact name="Dialect">{first.kind}</Fact>
      <Fact name="Key">{describeKey(facts)}</Fact>
      <Fact name="Health check">{first.healthCheckPath ? <code>{first.healthCheckPath}</code> : 'none: calls alone show its state'}</Fact>
    </dl>
  );
}

/** Requests that reached the upstream, by their ending: its health as the ledger has it. */
function History({ upstream }: { upstream: string }) {
  const { account, linkTo } = useSession();
  const { filters } = useFilters();
  const span = useSpan(filters, '24h');
  const iso = { from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString() };
  const { data } = useApi<UsageQueryReply>(
    withQuery(`/accounts/${account}/usage`, { ...iso, step: span.step, groupBy: 'ending', upstream, limit: 1_000 }),
  );
  const stack = useMemo(
    () =>
      data &&
      stackSeries({
        rows: data.rows,
        readId: (row: UsageRow) => readGroupId(row, 'ending'),
        measure: ({ requests }) => BigInt(requests),
        from: span.from,
        to: span.to,
        stepMs: span.stepMs,
        coloursFor: reasonColours,
      }),
    [data, span],
  );
  return (
    <Card
      title="History"
      note="requests that it ended, by ending"
      actions={
        <>
          <RangePicker fallback="24h" names={['24h', '7d', '30d']} />
          <Link to={linkTo('usage') + writeFilters({ ...filters, upstream })}>Usage in detail</Link>
        </>
      }
    >
      <StackChart
        title="Requests by ending"
        stack={stack}
        formatName={reasonName}
        format={(value) => shortCount(Number(value))}
        formatTicks={(values) => values.map((value) => shortCount(Number(value)))}
        formatMoment={(at) => (span.step === 'day' ? utcShortDay(at) : `${utcShortDay(at)}, ${utcHour(at)}`)}
        formatShortMoment={span.step === 'day' ? utcShortDay : utcHour}
        linkTo={({ at }, ending) =>
          linkTo('requests') +
          writeFilters({
            upstream,
            ...(ending && { ending }),
            from: new Date(at).toISOString(),
            to: new Date(at + span.stepMs).toISOString(),
          })
        }
      />
    </Card>
  );
}
