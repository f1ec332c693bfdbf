import { type Account, accountCreate, accountList, accountUpdate } from '#contracts/billing/accounts.js';
import { balanceGet } from '#contracts/billing/money.js';
import { command, UsageError } from '../command.js';
import { argument, flag, id, optional, required, text, usd } from '../parameters.js';
import { renderFields, renderMoney, renderTable } from '../render.js';
import { cursor, morePages } from './more-pages.js';

export const accountCommands = [
  command({
    name: 'account create',
    summary: 'Open an account, with nothing on it',
    parameters: { name: required(text(200), 'for people') },
    examples: ['account create --name acme'],
    endpoint: accountCreate,
    request: ({ name }) => ({ name }),
    render: renderAccount,
  }),
  command({
    name: 'account list',
    summary: 'List all accounts',
    parameters: { cursor },
    examples: ['account list', 'account list --json'],
    endpoint: accountList,
    request: (values) => values,
    render: ({ accounts, nextCursor }) =>
      renderTable(
        accounts,
        {
          ACCOUNT: (row) => row.accountId,
          NAME: (row) => row.name,
          STATUS: (row) => (row.statusReason === null ? row.status : `${row.status}: ${row.statusReason}`),
          CREATED: (row) => row.createdAt,
        },
        'no accounts',
      ) + morePages(nextCursor),
  }),
  command({
    name: 'account update',
    summary: 'Freeze an account or make it active again, rename it, or say when its balance is low',
    parameters: {
      accountId: argument(id, 'which'),
      name: optional(text(200), 'for people'),
      frozen: flag('give it no more holds; what runs is settled'),
      reason: optional(text(500), 'why it is frozen'),
      active: flag('let its keys work again'),
      lowBalance: optional(usd, 'publish balance-low when the balance falls below it'),
      lowBalanceOff: flag('publish it no more'),
    },
    examples: [
      'account update <account-id> --frozen --reason "payment disputed"',
      'account update <account-id> --active',
      'account update <account-id> --low-balance 5',
    ],
    endpoint: accountUpdate,
    request: ({ accountId, name, frozen, reason, active, lowBalance, lowBalanceOff }) => {
      if (frozen && active) throw new UsageError('--frozen and --active contradict each other');
      if (lowBalance && lowBalanceOff) throw new UsageError('--low-balance and --low-balance-off contradict each other');
      if (reason && !frozen) throw new UsageError('--reason says why an account is frozen: it goes with --frozen');
      if ([name, frozen, active, lowBalance, lowBalanceOff].every((value) => value === undefined)) {
        throw new UsageError('nothing to change: give --name, --frozen, --active, --low-balance or --low-balance-off');
      }
      return {
        accountId,
        name,
        status: frozen ? ('frozen' as const) : active && ('active' as const),
        statusReason: reason,
        lowBalanceUsd: lowBalanceOff ? '0' : lowBalance,
      };
    },
    render: renderAccount,
  }),
  command({
    name: 'balance',
    summary: 'Show what an account has, holds and can spend',
    parameters: { account: required(id, 'whose') },
    examples: ['balance --account <account-id>'],
    endpoint: balanceGet,
    request: ({ account }) => ({ accountId: account }),
    render: (balance) =>
      renderFields({
        balance: renderMoney(balance.balance_pico_usd),
        reserved: renderMoney(balance.reserved_pico_usd),
        available: renderMoney(balance.available_pico_usd),
        'of it top-up': renderMoney(balance.topup_balance_pico_usd),
        'of it plan': renderMoney(balance.plan_balance_pico_usd),
        'plan expires': balance.plan_expires_at,
      }),
  }),
];

function renderAccount(account: Account): string {
  return renderFields({
    account: account.accountId,
    name: account.name,
    status: account.status,
    reason: account.statusReason,
    'low balance': account.lowBalancePicoUsd === null ? null : renderMoney(account.lowBalancePicoUsd),
    created: account.createdAt,
  });
}
