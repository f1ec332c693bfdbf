import type { CatalogPlanReply } from '../../../../src/shapes/models.js';
import type { Tone } from '../../format/colours.js';
import { Badge } from '../../parts/badge.js';
import { Button } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { Table, TwoLines } from '../../parts/table.js';
import { formatValue } from '../audit/changes.js';
import styles from './catalog-editor.module.css';
import { changesText, type DifferenceRow, differenceRows } from './differences.js';

const KINDS: Record<DifferenceRow['what'], { name: string; tone: Tone }> = {
  disabled: { name: 'Disabled', tone: 'bad' },
  added: { name: 'Added', tone: 'good' },
  price: { name: 'Price', tone: 'warn' },
  changed: { name: 'Changed', tone: 'neutral' },
};

/** The difference between a text and the current revision, line by line. */
export function Difference({ plan: { revision, changes }, onApply }: { plan: CatalogPlanReply; onApply: () => void }) {
  if (!changes) {
    return (
      <Card title="No difference">
        <p>The text is equal to revision {revision}. Comments and the layout make no difference.</p>
      </Card>
    );
  }
  return (
    <Card
      flush
      title={`Difference to revision ${revision}`}
      note={changesText(changes)}
      actions={
        <Button look="primary" onClick={onApply}>
          Apply
        </Button>
      }
    >
      <Table<DifferenceRow>
        caption="Difference"
        rows={differenceRows(changes)}
        rowKey={({ what, noun, id, field }) => `${what} ${noun} ${id} ${field}`}
        empty={<p className={styles.only}>Only the order of the entries is another.</p>}
        columns={[
          { head: 'Change', cell: ({ what }) => <Badge tone={KINDS[what].tone}>{KINDS[what].name}</Badge> },
          { head: 'Entry', cell: ({ id, noun, field }) => <TwoLines main={id} more={field || noun} /> },
          { head: 'Before', wrap: true, cell: ({ field, before }) => <span className={styles.value}>{field && formatValue(before)}</span> },
          {
            head: 'After',
            grow: true,
            wrap: true,
            cell: ({ field, after }) => <span className={styles.value}>{field && formatValue(after)}</span>,
          },
        ]}
      />
    </Card>
  );
}
