import { useState } from 'react';
import type { CatalogGetReply, CatalogRevision, RevisionListReply } from '../../../../src/shapes/models.js';
import { useApi, usePages } from '../../data/use-api.js';
import { MoreButton } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { CopyLine } from '../../parts/copy-line.js';
import { Dialog } from '../../parts/dialog.js';
import { Empty } from '../../parts/empty.js';
import { Moment } from '../../parts/moment.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { changesText, priceText } from './differences.js';

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
            { head: 'Time', cell: ({ at }) => <Moment at={at} /> },
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
