import { BUDGET_PERIODS, type Budget, budgetList, budgetRemove, budgetSet } from '#contracts/billing/budgets.js';
import { command } from '../command.js';
import {
  accountId,
  argument,
  defaultingToOnly,
  keyId,
  listOf,
  oneOf,
  optional,
  projectId,
  required,
  text,
  usdAsPico,
  wholeId,
  wholeNumber,
} from '../parameters.js';
import { renderDollars, renderFields, renderMoney, renderTable } from '../render.js';

const account = defaultingToOnly(accountId, 'id of the account');
const percent = { ...wholeNumber(1, 100), placeholder: 'percentages', parse: (value: string) => String(wholeNumber(1, 100).parse(value)) };

export const budgetCommands = [
  command({
    name: 'budget set',
    summary: 'Limit what an account, a project or a key may cost in a period, or change the limit',
    parameters: {
      account,
      project: optional(projectId, 'only requests of this project'),
      key: optional(keyId, 'only requests of this key'),
      period: required(oneOf(BUDGET_PERIODS, 'period'), `${BUDGET_PERIODS.join(', ')}; weeks begin on Monday`),
      limit: required(usdAsPico, 'most that the requests of a period may cost; 0 refuses all that cost something'),
      timeZone: optional(text(64, 'zone'), 'time zone in which the period begins, such as Europe/Berlin; default UTC'),
      thresholds: optional(listOf(percent), "percentages of the limit that are events; default 50,80,100; '' for none"),
    },
    examples: [
      'budget set --account <account-id> --period month --limit 500 --time-zone Europe/Berlin',
      'budget set --account <account-id> --project <project-id> --period day --limit 5.00',
      'budget set --account <account-id> --key <key-id> --period total --limit 20 --thresholds 75,90',
    ],
    endpoint: budgetSet,
    request: ({ account, project, key, period, limit, timeZone, thresholds }) => ({
      accountId: account,
      projectId: project,
      keyId: key,
      period,
      timeZone,
      limitPicoUsd: limit,
      thresholds: thresholds?.map(Number),
    }),
    render: renderBudget,
  }),
  command({
    name: 'budget list',
    summary: 'List the budgets of an account, its projects and its keys, with what is spent and held',
    parameters: { account },
    examples: ['budget list --account <account-id>'],
    endpoint: budgetList,
    request: ({ account }) => ({ accountId: account }),
    render: ({ budgets }) =>
      renderTable(
        budgets,
        {
          BUDGET: (row) => row.budgetId,
          OF: ownerOf,
          PERIOD: (row) => row.period,
          LIMIT: (row) => renderDollars(row.limitPicoUsd),
          SPENT: (row) => renderDollars(row.spentPicoUsd),
          HELD: (row) => renderDollars(row.heldPicoUsd),
          RESETS: (row) => row.resetsAt,
        },
        'no budgets',
      ),
  }),
  command({
    name: 'budget show',
    summary: 'Show one budget',
    parameters: { budgetId: argument(wholeId, 'id of the budget'), account },
    examples: ['budget show <budget-id> --account <account-id>'],
    endpoint: budgetList,
    request: ({ budgetId, account }) => ({ accountId: account, budgetId }),
    render: ({ budgets }) => budgets.map(renderBudget).join(),
  }),
  command({
    name: 'budget remove',
    summary: 'Remove a budget; running requests are not affected',
    parameters: { budgetId: argument(wholeId, 'id of the budget') },
    examples: ['budget remove <budget-id>'],
    endpoint: budgetRemove,
    request: ({ budgetId }) => ({ budgetId }),
    render: (budget) => `removed\n${renderBudget(budget)}`,
  }),
];

function ownerOf({ projectId, keyId }: Budget): string {
  if (keyId !== null) return `key ${keyId}`;
  return projectId === null ? 'account' : `project ${projectId}`;
}

function renderBudget(budget: Budget): string {
  return renderFields({
    budget: budget.budgetId,
    account: budget.accountId,
    of: ownerOf(budget),
    period: budget.period,
    'time zone': budget.timeZone,
    limit: renderMoney(budget.limitPicoUsd),
    thresholds: budget.thresholds.length > 0 ? `${budget.thresholds.join(', ')} %` : 'none',
    spent: renderMoney(budget.spentPicoUsd),
    held: renderMoney(budget.heldPicoUsd),
    'window began': budget.windowStart,
    resets: budget.resetsAt,
    created: budget.createdAt,
  });
}
