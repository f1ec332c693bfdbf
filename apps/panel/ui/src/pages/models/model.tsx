import { useMemo } from 'react';
import { Link, useParams } from 'wouter';
import type { UsageQueryReply } from '../../../../src/shapes/billing.js';
import type { CatalogModel, ModelListReply, UpstreamsReply } from '../../../../src/shapes/catalog.js';
import { useApi, withQuery } from '../../data/api.js';
import { useFilters, useSpan, writeFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { count, exactUsd, usdPerMillion } from '../../format/numbers.js';
import { ButtonLink } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { RangePicker } from '../../parts/filter-bar.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty, Figure, Figures, Page } from '../../parts/page.js';
import { SpendChart } from '../../parts/spend-chart.js';
import { type Column, Table } from '../../parts/table.js';
import { RouteList, Troubles } from '../upstreams/route-list.js';
import { collectRoutes } from '../upstreams/upstream-state.js';
import { Traffic } from '../usage/traffic.js';
import { otherPrices } from './differences.js';
import { abilities, type PriceRow, priceRows, renderLongestReply, type Scheduled } from './model-words.js';

const REFETCH_MS = 5_000;

/** One model: prices with those that are scheduled beside, context and abilities, routes and their health, usage. */
export function ModelPage() {
  const params = useParams<{ model: string }>();
  const id = decodeURIComponent(params.model ?? '');
  const { account, may, linkTo, mayOnPlatform } = useSession();
  const { data } = useApi<ModelListReply>('/models');
  const parent = { name: 'Models', href: linkTo('models') };
  if (!data) return <Page title={id} parent={parent} busy />;
  const model = data.models.find((one) => one.id === id);
  if (!model) {
    return (
      <Page title={id} parent={parent}>
        <Empty icon="models" title="The catalog has no such model" text="Or it is disabled: requests for it are refused." />
      </Page>
    );
  }
  const scheduled = data.scheduledPrices?.filter((price) => price.model === id) ?? [];
  return (
    <Page
      title={model.displayName ?? id}
      parent={parent}
      about={[model.displayName && id, ...abilities(model)].filter(Boolean).join(' · ')}
      actions={
        account !== 'all' &&
        may('playground') &&
        model.embeddingDimensions == null && <ButtonLink to={withQuery(linkTo('playground'), { model: id })}>Try it</ButtonLink>
      }
    >
      <Figures>
        <Figure label="Context" note="tokens of prompt and reply">
          {count(model.contextTokens)}
        </Figure>
        <Figure
          label="Longest reply"
          note={model.embeddingDimensions == null ? `${count(model.defaultOutputTokens)} unless asked` : 'none'}
        >
          {renderLongestReply(model)}
        </Figure>
        <Figure label="Input, USD a million" note={`version ${model.price.version} of its price`}>
          {usdPerMillion(BigInt(model.price.inputPicoUsd))}
        </Figure>
        <Figure label="Output, USD a million" note={`${usdPerMillion(BigInt(model.price.cachedInputPicoUsd))} for cached input`}>
          {usdPerMillion(BigInt(model.price.outputPicoUsd))}
        </Figure>
      </Figures>
      <Prices model={model} scheduled={scheduled} />
      {model.displayName && (
        <Card title="Name for programs">
          <CopyLine text={id} />
        </Card>
      )}
      {mayOnPlatform('upstreams.read') && <Routes model={id} />}
      {may('usage.read') && <Use model={id} />}
    </Page>
  );
}

/** The price in force, and a column for each one that is scheduled. */
function Prices({ model: { price }, scheduled }: { model: CatalogModel; scheduled: Scheduled[] }) {
  const { linkTo, mayOnPlatform } = useSession();
  const rows = priceRows([price, ...scheduled.map((one) => one.price)], { perMillion: usdPerMillion, each: exactUsd });
  const others = otherPrices(price).length;
  const later = scheduled.map(
    ({ effectiveAt }, at): Column<PriceRow> => ({
      head: (
        <>
          From <Moment at={effectiveAt} named />
        </>
      ),
      key: effectiveAt,
      align: 'end',
      cell: ({ texts }) => (texts[at + 1] === texts[0] ? 'as now' : (texts[at + 1] ?? '–')),
    }),
  );
  return (
    <Card
      flush
      title="Prices"
      note={others > 0 ? 'USD; of tokens for a million' : 'USD per million tokens'}
      actions={mayOnPlatform('catalog.read') && <Link to={withQuery(linkTo('models'), { tab: 'scheduled' })}>Scheduled prices</Link>}
    >
      <Table<PriceRow>
        caption="Prices"
        rows={rows}
        rowKey={({ name }) => name}
        columns={[
          { head: 'Price', grow: true, wrap: true, cell: ({ name }) => name },
          { head: 'Now', align: 'end', cell: ({ texts }) => texts[0] ?? '–' },
          ...later,
        ]}
      />
    </Card>
  );
}

/** Its routes on every replica. */
function Routes({ model }: { model: string }) {
  const { data } = useApi<UpstreamsReply>('/upstreams', { refetchMs: REFETCH_MS });
  const rows = data && collectRoutes(data, ({ route }) => route.model === model);
  return (
    <Card flush title="Routes" note="counts since the replicas started">
      <RouteList
        caption={`Routes of ${model}`}
        rows={rows}
        withReplica={(data?.replicas.length ?? 0) > 1}
        empty={
          <Empty
            icon="upstreams"
            title={data?.replicas.length === 0 ? 'No replica of the inference-proxy answers' : 'The model has no route'}
            text="Its requests fail."
          />
        }
      />
      <Troubles routes={rows?.map(({ route }) => route) ?? []} />
    </Card>
  );
}

/** Costs and endings of its requests, in the account of the page. */
function Use({ model }: { model: string }) {
  const { account, linkTo } = useSession();
  const { filters: named } = useFilters();
  const span = useSpan(named, '7d');
  const question = { from: new Date(span.from).toISOString(), to: new Date(span.to).toISOString(), step: span.step, model };
  const { data } = useApi<UsageQueryReply>(withQuery(`/accounts/${account}/usage`, { ...question, limit: 1_000 }));
  const filters = useMemo(() => ({ model }), [model]);
  return (
    <>
      <Card
        title="Spend"
        note={`by ${span.step}, UTC`}
        actions={
          <>
            <RangePicker fallback="7d" names={['24h', '7d', '30d', 'month']} />
            <Link to={linkTo('usage') + writeFilters({ ...named, model })}>Usage in detail</Link>
          </>
        }
      >
        <SpendChart usage={data && { rows: data.rows, from: span.from, to: span.to, step: span.step }} filters={filters} />
      </Card>
      <Traffic filters={filters} span={span} />
    </>
  );
}
