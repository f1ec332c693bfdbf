import { useMemo, useState } from 'react';
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
  UsageQueryReply,
} from '../../../../src/shapes/billing.js';
import { useApi, useChange, usePages, withQuery } from '../../data/api.js';
import { resolveSpan, useFilters, useNow } from '../../data/filters.js';
import { useSession } from '../../data/session.js';
import { count, decimalsForAll, plural } from '../../format/numbers.js';
import { Badge } from '../../parts/badge.js';
import { Button, MoreButton } from '../../parts/button.js';
import { DialogForm } from '../../parts/dialog.js';
import { LimitField, SearchField, TextField } from '../../parts/field.js';
import { WithOwner } from '../../parts/managed.js';
import { Moment } from '../../parts/moment.js';
import { Money } from '../../parts/money.js';
import { Card, Empty, Page } from '../../parts/page.js';
import { Table, TwoLines } from '../../parts/table.js';
import { type AccountUsage, isFound, sortAccounts } from './account-list.js';
import styles from './accounts.module.css';
import { FreezeAccount } from './freeze-account.js';

/** Accounts of one reply, the most that the API has. */
const ROWS_MAX = 1_000;

/** All accounts of the platform, those that spend most first, with their balances. */
export function Accounts() {
  const { linkTo, mayOnPlatform } = useSession();
  const { filters, change } = useFilters();
  const list = usePages<AccountListReply>(`/accounts?limit=${ROWS_MAX}`);
  const usage = useMonth();
  const [asking, setAsking] = useState<{ action: 'limits' | 'freeze' | 'unfreeze'; account: AccountRow } | 'new'>();
  const accounts = list.data?.pages.flatMap((page) => page.accounts);
  const sort = filters.sort ?? '-spent';
  const rows =
    accounts && (usage || !sort.endsWith('spent'))
      ? sortAccounts(
          accounts.filter((account) => isFound(account, filters.search)),
          sort,
          usage ?? new Map(),
        )
      : undefined;
  const mayChange = mayOnPlatform('accounts');
  const decimals = decimalsForAll([...(usage?.values() ?? [])].map(({ costPicoUsd }) => costPicoUsd));
  const close = () => setAsking(undefined);
  return (
    <Page
      title="Accounts"
      about="An account is a customer: its projects share its balance."
      actions={
        mayChange && (
          <Button look="primary" icon="plus" onClick={() => setAsking('new')}>
            New account
          </Button>
        )
      }
    >
      <search>
        <SearchField label="Search accounts" value={filters.search ?? ''} onText={(search) => change({ search })} />
      </search>
      <Card flush>
        <Table<AccountRow>
          caption="Accounts"
          rows={rows}
          rowKey={({ accountId }) => accountId}
          sorting={{ by: sort, onSort: (by) => change({ sort: by }) }}
          empty={<NoAccounts isFiltered={Boolean(filters.search)} hasMore={list.hasNextPage} />}
          columns={[
            {
              head: 'Name',
              grow: true,
              sort: 'name',
              cell: ({ accountId, name, statusReason, pricePlan, managedBy }) => (
                <TwoLines
                  main={<Link to={linkTo('overview', accountId)}>{name}</Link>}
                  more={<WithOwner by={managedBy}>{statusReason ?? (pricePlan ? `price plan ${pricePlan}` : accountId)}</WithOwner>}
                />
              ),
            },
            {
              head: 'State',
              cell: ({ status }) => (status === 'active' ? <Badge tone="good">Active</Badge> : <Badge tone="bad">Frozen</Badge>),
            },
            {
              head: 'Requests\nthis month',
              align: 'end',
              wide: true,
              sort: 'requests',
              cell: ({ accountId }) => usage && count(usage.get(accountId)?.requests ?? 0),
            },
            {
              head: 'Spent\nthis month',
              align: 'end',
              sort: 'spent',
              cell: ({ accountId }) => usage && <Money pico={usage.get(accountId)?.costPicoUsd ?? '0'} decimals={decimals} plain />,
            },
            {
              head: 'Held',
              align: 'end',
              wide: true,
              cell: ({ balance }) => balance && <Money pico={balance.reserved_pico_usd} decimals={2} plain />,
            },
            {
              head: 'Available',
              align: 'end',
              wide: true,
              sort: 'available',
              cell: ({ balance }) => balance && <Money pico={balance.available_pico_usd} balance decimals={2} plain />,
            },
            { head: 'Opened', wide: true, sort: 'opened', cell: ({ createdAt }) => <Moment at={createdAt} format="day" /> },
            {
              head: '',
              align: 'end',
              cell: (account) => mayChange && <RowButtons account={account} onAction={(action) => setAsking({ action, account })} />,
            },
          ]}
        />
      </Card>
      {list.hasNextPage && <p>The order and the search are those of the {plural(accounts?.length ?? 0, 'account')} loaded so far.</p>}
      <MoreButton list={list}>More accounts</MoreButton>
      {asking === 'new' && <NewAccount onClose={close} />}
      {asking && asking !== 'new' && asking.action === 'limits' && <AccountLimits account={asking.account} onClose={close} />}
      {asking && asking !== 'new' && asking.action !== 'limits' && <FreezeAccount account={asking.account} onClose={close} />}
    </Page>
  );
}

/** Requests and cost of each account this month. */
function useMonth() {
  const { from } = resolveSpan({ range: 'month' }, useNow(60_000), 'month');
  const question = { from: new Date(from).toISOString(), groupBy: 'account', limit: ROWS_MAX };
  const { data } = useApi<UsageQueryReply>(withQuery('/accounts/all/usage', question));
  return useMemo(() => data && new Map<string, AccountUsage>(data.rows.map((row) => [row.accountId ?? '', row])), [data]);
}

function NoAccounts({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }) {
  if (!isFiltered) return <Empty icon="accounts" title="No accounts yet" text="An account is a customer, or your own company." />;
  return (
    <Empty icon="accounts" title="No account fits" text={hasMore ? 'Load more accounts below, or search for less.' : 'Search for less.'} />
  );
}

interface RowButtonsProps {
  account: AccountRow;
  onAction: (action: 'limits' | 'freeze' | 'unfreeze') => void;
}

function RowButtons({ account: { name, status }, onAction }: RowButtonsProps) {
  const change = status === 'active' ? ('freeze' as const) : ('unfreeze' as const);
  const text = status === 'active' ? 'Freeze' : 'Unfreeze';
  return (
    <span className={styles.buttons}>
      <Button look="quiet" aria-label={`Limits of ${name}`} onClick={() => onAction('limits')}>
        Limits
      </Button>
      <Button look="quiet" aria-label={`${text} ${name}`} onClick={() => onAction(change)}>
        {text}
      </Button>
    </span>
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
    <DialogForm
      managedBy={account.managedBy}
      title={`Limits: ${account.name}`}
      submit="Save"
      change={saving}
      onDone={onClose}
      onClose={onClose}
    >
      <p>All projects of the account share these limits. Each project and key also has its own.</p>
      <LimitField label="Requests a minute" max={REQUESTS_PER_MINUTE_MAX} value={perMinute} onText={setPerMinute} />
      <LimitField label="Concurrent requests" max={CONCURRENCY_MAX} value={atOnce} onText={setAtOnce} />
      <LimitField label="Tokens a minute" max={TOKENS_MAX} value={tokens} onText={setTokens} />
      <LimitField label="Most projects" max={PROJECTS_MAX} value={projects} onText={setProjects} required />
      <LimitField label="Most active keys" max={ACTIVE_KEYS_MAX} value={keys} onText={setKeys} required />
    </DialogForm>
  );
}
