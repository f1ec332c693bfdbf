import { type Account, accountCreate, accountList, accountUpdate, type NextPricePlan, pricePlanAt } from '#contracts/billing/accounts.js';
import { PRICE_PLAN_LENGTH_MAX } from '#contracts/billing/fields.js';
import { balanceGet } from '#contracts/billing/money.js';
import { ACTIVE_KEYS_MAX, PROJECTS_MAX } from '#contracts/rules/bounds.js';
import { command } from '../command.js';
import { idColumn } from '../names.js';
import {
  account,
  accountId,
  argument,
  clearable,
  clearableNumber,
  concurrency,
  cursor,
  flag,
  instant,
  modelLimits,
  optional,
  required,
  rpm,
  text,
  tpm,
  usd,
  usdOrZero,
  wholeNumber,
} from '../parameters.js';
import { limitFields, morePages, renderDollars, renderFields, renderMoney, renderTable, renderTime } from '../render.js';
import { UsageError } from '../usage-error.js';

export const accountCommands = [
  command({
    name: 'account create',
    summary: 'Create an account with a zero balance',
    parameters: { name: required(text(200), 'display name') },
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
      renderTable(accounts, 'no accounts', {
        ACCOUNT: (row) => row.name,
        ...idColumn(accounts, ({ accountId }) => accountId),
        STATUS: (row) => (row.statusReason === null ? row.status : `${row.status}: ${row.statusReason}`),
        BALANCE: (row) => renderDollars(row.balance.balance_pico_usd),
        AVAILABLE: (row) => renderDollars(row.balance.available_pico_usd),
        'PRICE PLAN': (row) => pricePlanAt(row, Date.now()),
        CREATED: (row) => renderTime(row.createdAt),
      }) + morePages(nextCursor),
  }),
  command({
    name: 'account update',
    summary: 'Freeze or reactivate an account, rename it, or set its limits, credit line, price plan or low-balance threshold',
    parameters: {
      accountId: argument(accountId, 'name or id of the account'),
      name: optional(text(200), 'display name'),
      frozen: flag('refuse new requests; running requests are settled'),
      reason: optional(text(500), 'reason for the freeze'),
      active: flag('accept its keys again'),
      lowBalance: optional(usd, 'publish balance-low when the balance falls below this amount'),
      lowBalanceOff: flag('stop publishing balance-low'),
      creditLine: optional(usdOrZero, 'how far below zero the top-up balance may go; 0: not at all'),
      pricePlan: optional(clearable(text(PRICE_PLAN_LENGTH_MAX, 'id')), 'price plan of the catalog; an empty text returns to list prices'),
      from: optional(instant, 'time from which on the price plan counts; default at once'),
      rpm: optional(clearableNumber(rpm), "maximum of requests of all its projects in any minute; '' for none"),
      concurrency: optional(clearableNumber(concurrency), "maximum of concurrent requests of all its projects; '' for none"),
      tpm: optional(clearableNumber(tpm), "maximum of tokens of all its projects in any minute; '' for none"),
      modelLimits: optional(modelLimits, "limits per minute of patterns of models, which replace those before; '' for none"),
      projects: optional(wholeNumber(1, PROJECTS_MAX), 'most projects that it may have'),
      keys: optional(wholeNumber(1, ACTIVE_KEYS_MAX), 'most active keys that it may have'),
    },
    examples: [
      'account update acme --frozen --reason "payment disputed"',
      'account update acme --active',
      'account update acme --low-balance 5',
      'account update acme --credit-line 500.00',
      'account update acme --rpm 1200 --concurrency 100 --tpm 500000',
      'account update acme --projects 300 --keys 5000',
      'account update acme --price-plan reseller',
      'account update acme --price-plan reseller --from 2027-01-01',
    ],
    endpoint: accountUpdate,
    request: ({ accountId, ...values }) => {
      const { name, frozen, reason, active, lowBalance, lowBalanceOff, creditLine, pricePlan, from } = values;
      const { rpm, concurrency, tpm, modelLimits, projects, keys } = values;
      if (frozen && active) throw new UsageError('--frozen and --active contradict each other');
      if (lowBalance && lowBalanceOff) throw new UsageError('--low-balance and --low-balance-off contradict each other');
      if (from && pricePlan === undefined) throw new UsageError('--from requires --price-plan');
      if (reason && !frozen) throw new UsageError('--reason requires --frozen');
      if (Object.values(values).every((value) => value === undefined)) {
        throw new UsageError('nothing to change: give an option, such as --name, --frozen, --rpm, --low-balance or --credit-line');
      }
      return {
        accountId,
        name,
        status: frozen ? ('frozen' as const) : active && ('active' as const),
        statusReason: reason,
        lowBalanceUsd: lowBalanceOff ? '0' : lowBalance,
        creditLineUsd: creditLine,
        ...(pricePlan !== undefined && { pricePlan: pricePlan || null, pricePlanFrom: from }),
        requestsPerMinuteMax: rpm === 0 ? null : rpm,
        concurrencyMax: concurrency === 0 ? null : concurrency,
        tokensPerMinuteMax: tpm === 0 ? null : tpm,
        modelLimits,
        projectsMax: projects,
        activeKeysMax: keys,
      };
    },
    render: renderAccount,
  }),
  command({
    name: 'balance',
    summary: 'Show the balance of an account: total, held and available',
    parameters: { account },
    examples: ['balance --account acme'],
    endpoint: balanceGet,
    request: ({ account }) => ({ accountId: account }),
    render: (balance) =>
      renderFields({
        balance: renderMoney(balance.balance_pico_usd),
        reserved: renderMoney(balance.reserved_pico_usd),
        available: renderMoney(balance.available_pico_usd),
        'top-up part': renderMoney(balance.topup_balance_pico_usd),
        'plan part': renderMoney(balance.plan_balance_pico_usd),
        'plan expires': balance.plan_expires_at,
        ...(balance.credit_line_pico_usd !== undefined && { 'credit line': renderMoney(balance.credit_line_pico_usd) }),
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
    'credit line': account.creditLinePicoUsd === null ? null : renderMoney(account.creditLinePicoUsd),
    'price plan': pricePlanAt(account, Date.now()),
    ...(isAhead(account.nextPricePlan) && { 'next price plan': renderNextPlan(account.nextPricePlan) }),
    ...limitFields(account),
    'most projects': String(account.projectsMax),
    'most active keys': String(account.activeKeysMax),
    created: account.createdAt,
  });
}

function isAhead(next: NextPricePlan | null): next is NextPricePlan {
  return next !== null && Date.parse(next.from) > Date.now();
}

function renderNextPlan({ pricePlan, from }: NextPricePlan): string {
  return `${pricePlan ?? 'list prices'} from ${from}`;
}
