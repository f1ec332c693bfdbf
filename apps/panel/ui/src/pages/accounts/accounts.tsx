import { useState } from 'react';
import { Link } from 'wouter';
import {
  ACTIVE_KEYS_MAX,
  CONCURRENCY_MAX,
  NAME_LENGTH_MAX,
  PROJECTS_MAX,
  REQUESTS_PER_MINUTE_MAX,
  TOKENS_MAX,
} from '#contracts/rules/bounds.js';
import type {
  Account,
  AccountCreateBody,
  AccountListReply,
  AccountRow,
  AccountUpdateBody,
  ShownAccount,
} from '../../../../src/shapes/billing.js';
import { useChange, usePages } from '../../data/api.js';
import { useSession } from '../../data/session.js';
import { Badge } from '../../parts/badge.js';
import { Button, MoreButton } from '../../parts/button.js';
import { DialogForm } from '../../parts/dialog.js';
import { LimitField, TextField } from '../../parts/field.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { Card, Page } from '../../parts/page.js';
import { buttonColumn, Table, TwoLines } from '../../parts/table.js';

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

/** Changes the limits that all projects of an account share, and how many projects and keys it may have. */
export function AccountLimits({ account, onClose }: { account: ShownAccount; onClose: () => void }) {
  const [perMinute, setPerMinute] = useState(`${account.requestsPerMinuteMax ?? ''}`);
  const [atOnce, setAtOnce] = useState(`${account.concurrencyMax ?? ''}`);
  const [tokens, setTokens] = useState(`${account.tokensPerMinuteMax ?? ''}`);
  const [projects, setProjects] = useState(`${account.projectsMax}`);
  const [keys, setKeys] = useState(`${account.activeKeysMax}`);
  const saving = useChange<ShownAccount>(() => ({
    method: 'PATCH',
    path: `/accounts/${account.accountId}`,
    body: {
      requestsPerMinuteMax: perMinute === '' ? null : Number(perMinute),
      concurrencyMax: atOnce === '' ? null : Number(atOnce),
      tokensPerMinuteMax: tokens === '' ? null : Number(tokens),
      projectsMax: Number(projects),
      activeKeysMax: Number(keys),
    } satisfies AccountUpdateBody,
  }));
  return (
    <DialogForm title={`Limits: ${account.name}`} submit="Save" change={saving} onDone={onClose} onClose={onClose}>
      <p>All projects of the account share these limits. Each project and key also has its own.</p>
      <LimitField label="Requests a minute" max={REQUESTS_PER_MINUTE_MAX} value={perMinute} onText={setPerMinute} />
      <LimitField label="Requests at once" max={CONCURRENCY_MAX} value={atOnce} onText={setAtOnce} />
      <LimitField label="Tokens a minute" max={TOKENS_MAX} value={tokens} onText={setTokens} />
      <LimitField label="Most projects" max={PROJECTS_MAX} value={projects} onText={setProjects} required />
      <LimitField label="Most active keys" max={ACTIVE_KEYS_MAX} value={keys} onText={setKeys} required />
    </DialogForm>
  );
}
