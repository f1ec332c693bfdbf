import { useState } from 'react';
import { Link } from 'wouter';
import type { MovementListReply } from '../../../../src/shapes/billing.js';
import { usePages } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { exactDecimals } from '../../format/numbers.js';
import { Button, MoreButton } from '../../parts/button.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { Card, Empty } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { CreditNote } from './credit-note.js';

const PAGE_ROWS = 20;

/** The credit notes of an account, newest first, each with the request whose cost it gives back. */
export function CreditNotesCard() {
  const { account, mayOnPlatform } = useSession();
  const list = usePages<MovementListReply>(`/accounts/${account}/movements?kinds=credit-note&limit=${PAGE_ROWS}`);
  const [isMaking, setMaking] = useState(false);
  const notes = list.data?.pages.flatMap(({ movements }) => movements);
  const decimals = exactDecimals(notes?.map(({ amountPicoUsd }) => amountPicoUsd) ?? []);
  const newNote = mayOnPlatform('money.write') && <Button onClick={() => setMaking(true)}>New credit note</Button>;
  return (
    <>
      <Card flush title="Credit notes" note="costs that were given back, each with its request" actions={newNote}>
        <Table<MovementListReply['movements'][number]>
          caption="Credit notes"
          rows={notes}
          placeholders={2}
          rowKey={({ movementId }) => movementId}
          empty={
            <Empty
              icon="money"
              title="No credit notes"
              text="A credit note gives the cost of a request back, as money that does not expire."
            />
          }
          columns={[
            { head: 'Day', cell: ({ createdAt }) => <Moment at={createdAt} format="day" /> },
            {
              head: 'Reason',
              grow: true,
              cell: ({ reason, reference, noteOf }) => (
                <TwoLines main={<Link to={`/requests/${noteOf}`}>{reason}</Link>} more={reference} />
              ),
            },
            { head: 'Amount', align: 'end', cell: ({ amountPicoUsd }) => <Money pico={amountPicoUsd} decimals={decimals} plain /> },
          ]}
        />
      </Card>
      <MoreButton list={list}>More credit notes</MoreButton>
      {isMaking && <CreditNote onClose={() => setMaking(false)} />}
    </>
  );
}
