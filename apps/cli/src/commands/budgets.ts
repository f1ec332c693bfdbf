import { CHILD } from '#contracts/billing/attribution.js';
import { BUDGET_PERIODS, type Budget, budgetList, budgetRemove, budgetSet, budgetValues } from '#contracts/billing/budgets.js';
import { parseAmounts } from '#contracts/rules/budget-amounts.js';
import { command } from '../command.js';
import { type Names, readNames } from '../names.js';
import {
  account,
  accountId,
  argument,
  cursor,
  flag,
  keyId,
  listKind,
  oneOf,
  optional,
  projectId,
  required,
  text,
  usdAsPico,
  wholeId,
  wholeNumber,
} from '../parameters.js';
import { morePages, renderDollars, renderFields, renderMoney, renderTable } from '../render.js';
import { UsageError } from '../usage-error.js';

const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const;
const percent = { ...wholeNumber(1, 100), placeholder: 'percentages', parse: (value: string) => String(wholeNumber(1, 100).parse(value)) };

export const budgetCommands = [
  command({
    name: 'budget set',
    summary:
      'Limit what an account, project or key, or each of its users, sessions or tags, may cost or use in a period, or change the limit',
    parameters: {
      account,
      project: optional(projectId, 'only requests of this project'),
      key: optional(keyId, 'only requests of this key'),
      eachUser: flag('a budget of this size for each end user; spaces around a name do not count, upper and lower case do'),
      user: optional(text(256, 'user'), 'only requests of this end user'),
      eachSession: flag('a budget of this size for each session or run of an agent; --period total lasts as long as the session'),
      session: optional(text(256, 'session'), 'only requests of this session'),
      eachClient: flag('a budget of this size for each client, such as OpenAI/Python'),
      eachAgent: flag('a budget of this size for each agent'),
      eachChild: flag('a budget of this size for each child key, which lets the keys make them; --period total'),
      eachTag: optional(text(64, 'name'), 'a budget of this size for each value of this tag'),
      tag: optional(text(193, 'name=value'), 'only requests with this tag'),
      period: required(oneOf(BUDGET_PERIODS, 'period'), BUDGET_PERIODS.join(', ')),
      limit: optional(usdAsPico, 'most that the requests of a period may cost; 0 refuses all that cost something'),
      limitTokens: optional(wholeNumber(0, Number.MAX_SAFE_INTEGER), 'most tokens that they may use, instead of --limit'),
      timeZone: optional(text(64, 'zone'), 'time zone in which the period begins, such as Europe/Berlin; default UTC'),
      weekStart: optional(oneOf(WEEKDAYS, 'day'), 'day on which weeks begin; default monday'),
      monthStart: optional(wholeNumber(1, 28), 'day on which months begin, from 1 to 28; default 1'),
      thresholds: optional(
        listKind(percent),
        "percentages of the limit that are events; default 50,80,100; '' for none; not with --each-…",
      ),
    },
    examples: [
      'budget set --account acme --period month --limit 500 --time-zone Europe/Berlin',
      'budget set --account acme --project web --period day --limit 5.00',
      'budget set --account acme --key ci --period total --limit 20 --thresholds 75,90',
      'budget set --account acme --project web --each-user --period day --limit 1',
      'budget set --account acme --project web --each-session --period total --limit 2',
      'budget set --account acme --key ci --each-child --period total --limit 2',
      'budget set --account acme --tag team=search --period month --limit 200',
      'budget set --account acme --period month --limit-tokens 5000000 --month-start 15',
    ],
    endpoint: budgetSet,
    request: ({ account, project, key, period, limit, limitTokens, timeZone, weekStart, monthStart, thresholds, ...of }) => ({
      accountId: account,
      projectId: project,
      keyId: key,
      ...parseValues(of),
      period,
      timeZone,
      startDay: parseStartDay(period, weekStart, monthStart),
      ...parseLimit(limit, limitTokens),
      thresholds: thresholds?.map(Number),
    }),
    render: renderBudget,
  }),
  command({
    name: 'budget list',
    summary: 'List the budgets of an account, its projects and its keys, with what is spent and held',
    parameters: { account },
    examples: ['budget list --account acme'],
    endpoint: budgetList,
    request: ({ account }) => ({ accountId: account }),
    lookUp: (_, messaging, { accountId }) => readNames(messaging, ['project', 'key'], { accountId }),
    render: ({ budgets }, names) =>
      renderTable(budgets, 'no budgets', {
        BUDGET: (row) => row.budgetId,
        OF: (row) => describeOwner(row, names),
        PERIOD: (row) => row.period,
        LIMIT: (row) => renderShort(row, parseAmounts(row).limit),
        SPENT: (row) => (isPerValue(row) ? null : renderShort(row, parseAmounts(row).spent)),
        HELD: (row) => (isPerValue(row) ? null : renderShort(row, parseAmounts(row).held)),
        RESETS: (row) => row.resetsAt,
      }),
  }),
  command({
    name: 'budget show',
    summary: 'Show one budget',
    parameters: { budgetId: argument(wholeId, 'id of the budget'), account },
    examples: ['budget show <budget-id> --account acme'],
    endpoint: budgetList,
    request: ({ budgetId, account }) => ({ accountId: account, budgetId }),
    render: ({ budgets }) => budgets.map(renderBudget).join(),
  }),
  command({
    name: 'budget values',
    summary: 'List the users, sessions, child keys or values of a tag that have used a budget, with what each has spent and holds',
    parameters: {
      budgetId: argument(wholeId, 'id of the budget'),
      account,
      value: optional(text(256, 'value'), 'only this value'),
      limit: optional(wholeNumber(1, 1_000), 'rows on a page; default 100'),
      cursor,
    },
    examples: ['budget values <budget-id> --account acme', 'budget values <budget-id> --account acme --value alice'],
    endpoint: budgetValues,
    request: ({ budgetId, account, value, limit, cursor }) => ({ accountId: account, budgetId, value, limit, cursor }),
    render: ({ budget, values, nextCursor }) =>
      renderTable(values, 'nothing is spent or held', {
        VALUE: (row) => row.value,
        SPENT: (row) => renderShort(budget, row.spentTokens ?? row.spentPicoUsd ?? 0),
        HELD: (row) => renderShort(budget, row.heldTokens ?? row.heldPicoUsd ?? 0),
        LIMIT: (row) => renderShort(budget, lowest(parseAmounts(budget).limit, row.limitPicoUsd)),
        RESETS: () => budget.resetsAt,
      }) + morePages(nextCursor),
  }),
  command({
    name: 'budget remove',
    summary: 'Remove a budget; running requests are not affected',
    parameters: {
      budgetId: argument(wholeId, 'id of the budget'),
      account: optional(accountId, 'id of the account that must have the budget'),
    },
    examples: ['budget remove <budget-id>', 'budget remove <budget-id> --account acme'],
    endpoint: budgetRemove,
    request: ({ budgetId, account }) => ({ budgetId, accountId: account }),
    render: (budget) => `removed\n${renderBudget(budget)}`,
  }),
];

interface Values {
  eachUser: true | undefined;
  user: string | undefined;
  eachSession: true | undefined;
  session: string | undefined;
  eachClient: true | undefined;
  eachAgent: true | undefined;
  eachChild: true | undefined;
  eachTag: string | undefined;
  tag: string | undefined;
}

/** Returns the users, sessions or tags that a budget is of. */
function parseValues({ eachUser, user, eachSession, session, eachClient, eachAgent, eachChild, eachTag, tag }: Values): {
  dimension?: string;
  value?: string;
} {
  if (
    [eachUser, user, eachSession, session, eachClient, eachAgent, eachChild, eachTag, tag].filter((one) => one !== undefined).length > 1
  ) {
    throw new UsageError(
      'give one of --each-user, --user, --each-session, --session, --each-client, --each-agent, --each-child, --each-tag and --tag',
    );
  }
  if (eachUser) return { dimension: 'user' };
  if (user !== undefined) return { dimension: 'user', value: user };
  if (eachSession) return { dimension: 'session' };
  if (session !== undefined) return { dimension: 'session', value: session };
  if (eachClient) return { dimension: 'client' };
  if (eachAgent) return { dimension: 'agent' };
  if (eachChild) return { dimension: CHILD };
  if (eachTag !== undefined) return { dimension: `tag:${eachTag}` };
  if (tag === undefined) return {};
  const at = tag.indexOf('=');
  if (at < 1 || at === tag.length - 1) throw new UsageError('--tag takes a name and a value, such as team=search');
  return { dimension: `tag:${tag.slice(0, at)}`, value: tag.slice(at + 1) };
}

function parseLimit(limitPicoUsd: string | undefined, limitTokens: number | undefined) {
  if ((limitPicoUsd === undefined) === (limitTokens === undefined)) throw new UsageError('give either --limit or --limit-tokens');
  return limitTokens === undefined ? { limitPicoUsd } : { limitTokens };
}

function parseStartDay(
  period: string,
  weekStart: (typeof WEEKDAYS)[number] | undefined,
  monthStart: number | undefined,
): number | undefined {
  if (weekStart !== undefined && period !== 'week') throw new UsageError('--week-start is for --period week');
  if (monthStart !== undefined && period !== 'month') throw new UsageError('--month-start is for --period month');
  return weekStart === undefined ? monthStart : WEEKDAYS.indexOf(weekStart) + 1;
}

function isPerValue({ dimension, value }: Budget): boolean {
  return dimension !== null && value === null;
}

const PERIOD_WORDS: Record<Budget['period'], string> = { day: 'daily', week: 'weekly', month: 'monthly', total: 'total' };

/** Renders `daily budget of project web`. */
export function describeBudget(budget: Budget, names: Names): string {
  return `${PERIOD_WORDS[budget.period]} budget of ${describeOwner(budget, names)}`;
}

function describeOwner({ projectId, keyId, dimension, value }: Budget, names: Names = (_, id) => id): string {
  const ofProject = projectId === null ? 'account' : `project ${names('project', projectId)}`;
  const target = keyId === null ? ofProject : `key ${names('key', keyId)}`;
  if (dimension === null) return target;
  const name = dimension.replace('tag:', '');
  return `${value === null ? `each ${name}` : `${name}=${value}`} of ${target}`;
}

/** Returns the limit of a budget, or that of a value where it is lower. */
function lowest(limit: bigint, own: string | undefined): bigint {
  return own !== undefined && BigInt(own) < limit ? BigInt(own) : limit;
}

function renderAmount({ unit }: Budget, amount: bigint): string {
  return unit === 'tokens' ? `${amount} tokens` : renderMoney(String(amount));
}

/** Renders an amount for a table. */
function renderShort({ unit }: Budget, amount: bigint | number | string): string {
  return unit === 'tokens' ? `${amount} tokens` : renderDollars(String(amount));
}

function renderBudget(budget: Budget): string {
  const amounts = parseAmounts(budget);
  return renderFields({
    budget: budget.budgetId,
    account: budget.accountId,
    of: describeOwner(budget),
    period: budget.period,
    'time zone': budget.timeZone,
    ...(budget.period === 'week' && { 'begins on': WEEKDAYS[budget.startDay - 1] ?? '' }),
    ...(budget.period === 'month' && { 'begins on day': String(budget.startDay) }),
    limit: renderAmount(budget, amounts.limit),
    thresholds: budget.thresholds.length > 0 ? `${budget.thresholds.join(', ')} %` : 'none',
    ...(!isPerValue(budget) && { spent: renderAmount(budget, amounts.spent), held: renderAmount(budget, amounts.held) }),
    'window began': budget.windowStart,
    resets: budget.resetsAt,
    created: budget.createdAt,
  });
}
