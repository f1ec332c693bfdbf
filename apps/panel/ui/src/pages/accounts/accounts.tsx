import { useState } from 'react';
import { Link } from 'wouter';
import { NAME_LENGTH_MAX } from '#contracts/rules/bounds.js';
import type { Account, AccountCreateBody, AccountListReply, AccountRow } from '../../../../src/shapes/accounts.js';
import { useSession } from '../../data/session.js';
import { useChange, usePages } from '../../data/use-api.js';
import { Badge } from '../../parts/badge.js';
import { Button, MoreButton } from '../../parts/button.js';
import { Card } from '../../parts/card.js';
import { DialogForm } from '../../parts/dialog-form.js';
import { TextField } from '../../parts/field.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';
import { AccountLimits } from './account-limits.js';

/** All accounts of the platform with their balances. */
export function Accounts() {
  const { linkTo, mayOnPlatform } = useSession();
  const list = usePages<AccountListReply>('/accounts?limit=100');
  const [isMaking, setMaking] = useState(false);
  const [limited, setLimited] = useState<AccountRow>();
  return (
    <Page
      title="Accounts"
      about="An account is a customer: its projects share its balance."
      actions={
        <Button look="primary" icon="plus" onClick={() => setMaking(true)}>
          New account
        </Button>
      }
    >
      <Card flush>
        <Table<AccountRow>
          caption="Accounts"
          rows={list.data?.pages.flatMap(({ accounts }) => accounts)}
          rowKey={({ accountId }) => accountId}
          columns={[
            {
              head: 'Name',
              grow: true,
              cell: ({ accountId, name, statusReason }) => (
                <TwoLines main={<Link to={linkTo('overview', accountId)}>{name}</Link>} more={statusReason ?? accountId} />
              ),
            },
            {
              head: 'State',
              cell: ({ status }) => (status === 'active' ? <Badge tone="good">Active</Badge> : <Badge tone="bad">Frozen</Badge>),
            },
            { head: 'Opened', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} format="day" /> },
            {
              head: 'Held',
              align: 'end',
              wide: true,
              cell: ({ balance }) => balance && <Money pico={balance.reserved_pico_usd} decimals={2} plain />,
            },
            {
              head: 'Available',
              align: 'end',
              cell: ({ balance }) => balance && <Money pico={balance.available_pico_usd} balance decimals={2} plain />,
            },
            buttonColumn('Limits', setLimited, { has: () => mayOnPlatform('accounts') }),
          ]}
        />
      </Card>
      <MoreButton list={list}>More accounts</MoreButton>
      {limited && <AccountLimits account={limited} onClose={() => setLimited(undefined)} />}
      {isMaking && <NewAccount onClose={() => setMaking(false)} />}
    </Page>
  );
}

function NewAccount({ onClose }: { onClose: () => void }) {
  const [accountId] = useState(() => crypto.randomUUID());
  const [name, setName] = useState('');
  const making = useChange<Account>(() => ({ method: 'POST', path: '/accounts', body: { accountId, name } satisfies AccountCreateBody }));
  return (
    <DialogForm title="New account" submit="Open account" change={making} onDone={onClose} onClose={onClose}>
      <TextField label="Name" value={name} onText={setName} maxLength={NAME_LENGTH_MAX} required />
    </DialogForm>
  );
}
