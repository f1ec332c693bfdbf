import { Link } from 'wouter';
import type { CatalogModel, ModelListReply } from '../../../../src/shapes/models.js';
import { writeFilters } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { useApi } from '../../data/use-api.js';
import { count } from '../../format/count.js';
import { usdPerMillion } from '../../format/usd.js';
import { Card } from '../../parts/card.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Empty } from '../../parts/empty.js';
import { Table, TwoLines } from '../../parts/table.js';
import { otherPrices } from './differences.js';

/** The enabled models with their prices and limits. */
export function ModelList() {
  const { linkTo } = useSession();
  const { data } = useApi<ModelListReply>('/models');
  const price = (of: (price: CatalogModel['price']) => string) => (model: CatalogModel) => usdPerMillion(BigInt(of(model.price)));
  return (
    <Card flush title="Prices and limits" note={data && `revision ${data.revision} of the catalog`}>
      <Table<CatalogModel>
        caption="Models"
        rows={data?.models}
        rowKey={({ id }) => id}
        empty={
          <Empty icon="models" title="The catalog has no enabled model">
            <p>Apply one:</p>
            <CopyLine text="npm run -s tollgate -- catalog apply config/catalog.yaml" />
          </Empty>
        }
        columns={[
          {
            head: 'Model',
            grow: true,
            cell: ({ id, displayName, ownedBy, input, reasoning, price }) => (
              <TwoLines
                main={<Link to={linkTo('usage') + writeFilters({ model: id })}>{displayName ?? id}</Link>}
                more={[displayName && id, ownedBy, input.includes('image') && 'images', reasoning && 'reasoning', ...otherPrices(price)]
                  .filter(Boolean)
                  .join(' · ')}
              />
            ),
          },
          { head: 'Context', align: 'end', wide: true, cell: ({ contextTokens }) => count(contextTokens) },
          { head: 'Longest reply', align: 'end', wide: true, cell: ({ maxOutputTokens }) => count(maxOutputTokens) },
          { head: 'Version', align: 'end', wide: true, cell: ({ price: { version } }) => version },
          { head: 'Input', align: 'end', cell: price(({ inputPicoUsd }) => inputPicoUsd) },
          { head: 'Cached', align: 'end', wide: true, cell: price(({ cachedInputPicoUsd }) => cachedInputPicoUsd) },
          { head: 'Output', align: 'end', cell: price(({ outputPicoUsd }) => outputPicoUsd) },
        ]}
      />
    </Card>
  );
}
