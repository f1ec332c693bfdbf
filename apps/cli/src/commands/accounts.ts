import { type Account, accountCreate, accountList } from '#contracts/billing/accounts.js';
import { balanceGet } from '#contracts/billing/money.js';
import { command } from '../command.js';
import { id, required, text } from '../parameters.js';
import { renderFields, renderMoney, renderTable } from '../render.js';

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
    parameters: {},
    examples: ['account list', 'account list --json'],
    endpoint: accountList,
    request: () => ({}),
    render: ({ accounts }) =>
      renderTable(
        accounts,
        { ACCOUNT: (row) => row.accountId, NAME: (row) => row.name, STATUS: (row) => row.status, CREATED: (row) => row.createdAt },
        'no accounts',
      ),
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
  return renderFields({ account: account.accountId, name: account.name, status: account.status, created: account.createdAt });
}
