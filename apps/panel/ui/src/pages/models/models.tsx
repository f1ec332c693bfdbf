import { useState } from 'react';
import { Link, useLocation, useSearch } from 'wouter';
import type { CatalogGetReply, CatalogModel, CatalogRevision, ModelListReply, RevisionListReply } from '../../../../src/shapes/catalog.js';
import { useApi, usePages, withQuery } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { count, usdPerMillion } from '../../format/numbers.js';
import { MoreButton } from '../../parts/button.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Dialog } from '../../parts/dialog.js';
import { Moment } from '../../parts/moment.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { Segments } from '../../parts/segments.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { CatalogEditor, type Draft } from './catalog-editor.js';
import { changesText, otherPrices, priceText } from './differences.js';
import { abilities, nextPrices, renderLongestReply, type Scheduled } from './model-words.js';
import { ScheduledPriceList } from './scheduled-prices.js';

const TABS = [
  { value: '', label: 'Models' },
  { value: 'scheduled', label: 'Scheduled' },
  { value: 'file', label: 'File' },
  { value: 'history', label: 'History' },
];

/** Models and prices. Operators also see and change the catalog file, its history and the scheduled prices. */
export function Models() {
  const { mayOnPlatform } = useSession();
  const [path] = useLocation();
  const isOperator = mayOnPlatform('catalog.read');
  const named = new URLSearchParams(useSearch()).get('tab');
  const tab = isOperator && TABS.some(({ value }) => value === named) ? named : '';
  // Here, so that a look at another tab keeps it.
  const [draft, setDraft] = useState<Draft>();
  return (
    <Page
      title="Models"
      about="Prices are USD per million tokens. A request keeps the prices of its start."
      actions={
        isOperator && <Segments label="Catalog" options={TABS} value={tab ?? ''} linkTo={(value) => withQuery(path, { tab: value })} />
      }
    >
      {tab === '' && <ModelList />}
      {tab === 'scheduled' && <ScheduledPriceList />}
      {tab === 'file' && <CatalogEditor draft={draft} onDraft={setDraft} />}
      {tab === 'history' && <Revisions />}
    </Page>
  );
}

type Prices = CatalogModel['price'];
type PriceField = 'inputPicoUsd' | 'cachedInputPicoUsd' | 'outputPicoUsd';

/** The enabled models with their prices and limits, and below a price the next one that is scheduled. */
export function ModelList() {
  const { linkTo } = useSession();
  const { data } = useApi<ModelListReply>('/models');
  const next = nextPrices(data?.scheduledPrices);
  const price = (field: PriceField) => (model: CatalogModel) => (
    <Price now={model.price} next={next.get(model.id)} read={(one) => one[field]} />
  );
  return (
    <Card flush title="Prices and limits" note={data && `revision ${data.revision} of the catalog`}>
      <Table<CatalogModel>
        caption="Models"
        rows={data?.models}
        rowKey={({ id }) => id}
        empty={
          <Empty icon="models" title="The catalog has no enabled model" text="Apply one:">
            <CopyLine text="npx tollgate catalog apply config/catalog.yaml" />
          </Empty>
        }
        columns={[
          {
            head: 'Model',
            grow: true,
            cell: (model) => (
              <TwoLines
                main={<Link to={linkTo(`models/${encodeURIComponent(model.id)}`)}>{model.displayName ?? model.id}</Link>}
                more={[model.displayName && model.id, ...abilities(model), ...otherPrices(model.price)].filter(Boolean).join(' · ')}
              />
            ),
          },
          { head: 'Context', align: 'end', wide: true, cell: ({ contextTokens }) => count(contextTokens) },
          { head: 'Longest reply', align: 'end', wide: true, cell: renderLongestReply },
          { head: 'Version', align: 'end', wide: true, cell: ({ price: { version } }) => version },
          { head: 'Input', align: 'end', cell: price('inputPicoUsd') },
          { head: 'Cached', align: 'end', wide: true, cell: price('cachedInputPicoUsd') },
          { head: 'Output', align: 'end', cell: price('outputPicoUsd') },
        ]}
      />
    </Card>
  );
}

/** A price of a million tokens, and below it the scheduled one, where that differs. */
function Price({ now, next, read }: { now: Prices; next: Scheduled | undefined; read: (price: Prices) => string }) {
  const text = usdPerMillion(BigInt(read(now)));
  if (!next || read(next.price) === read(now)) return text;
  return (
    <TwoLines
      main={text}
      more={
        <>
          {usdPerMillion(BigInt(read(next.price)))} from <Moment at={next.effectiveAt} format="day" />
        </>
      }
    />
  );
}

/** Every revision of the catalog: who made it, what it changed, its prices before and after, and its text. */
export function Revisions() {
  const list = usePages<RevisionListReply>('/catalog/revisions?limit=50');
  const [shown, setShown] = useState<CatalogRevision>();
  return (
    <>
      <Card flush title="Revisions" note="prices: input / cached / output">
        <Table<CatalogRevision>
          caption="Revisions"
          rows={list.data?.pages.flatMap(({ revisions }) => revisions)}
          rowKey={({ auditId }) => auditId}
          empty={<Empty icon="models" title="No catalog is applied yet" />}
          columns={[
            { head: 'Revision', align: 'end', cell: ({ revision }) => revision },
            { head: 'Time', isTime: true, cell: ({ at }) => <Moment at={at} /> },
            {
              head: 'Who',
              wide: true,
              cell: ({ actor, actorName, reason, fileName }) => <TwoLines main={actorName ?? actor} more={reason ?? fileName} />,
            },
            { head: 'Changes', grow: true, wrap: true, cell: ChangesCell },
            buttonColumn('Text', setShown),
          ]}
        />
      </Card>
      <MoreButton list={list}>Older revisions</MoreButton>
      {shown && <RevisionText revision={shown.revision} onClose={() => setShown(undefined)} />}
    </>
  );
}

function ChangesCell({ changes }: CatalogRevision) {
  if (!changes) return '–';
  const prices = changes.repriced.map(({ model, before, after }) => `${model}: ${priceText(before)} → ${priceText(after)}`);
  return <TwoLines main={changesText(changes)} more={prices.join(', ')} />;
}

function RevisionText({ revision, onClose }: { revision: number; onClose: () => void }) {
  const { data } = useApi<CatalogGetReply>(`/catalog?revision=${revision}`);
  return (
    <Dialog title={`Revision ${revision}`} onClose={onClose}>
      {data?.revision === revision &&
        (data.yaml === null ? <p>The text of this revision was not stored.</p> : <CopyLine text={data.yaml} />)}
    </Dialog>
  );
}
