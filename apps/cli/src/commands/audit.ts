import {
  type AuditEntry,
  type AuditListReply,
  billingAuditList,
  catalogAuditList,
  panelAuditList,
  paymentsAuditList,
} from '#contracts/audit.js';
import { budgetList } from '#contracts/billing/budgets.js';
import { type PanelUser, panelUserList } from '#contracts/panel.js';
import { AUDITED_ACTIONS, type AuditWords, describeAudit } from '#contracts/rules/audit-sentences.js';
import { type Messaging, MessagingError } from '#messaging/messaging.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { completeIds } from '../complete-ids.js';
import { type Names, readNames, shortenId } from '../names.js';
import { accountId, cursor, oneOf, optional, text, wholeNumber } from '../parameters.js';
import { morePages, renderDollars, renderTable, renderTime } from '../render.js';
import { readStart, TIME_FILTER } from '../time-range.js';
import { UsageError } from '../usage-error.js';
import { describeBudget } from './budgets.js';

const LIMIT_DEFAULT = 50;
/** Accounts whose budgets are read to name them. */
const ACCOUNTS_MAX = 10;
const PEOPLE_PAGES_MAX = 20;

const PARAMETERS = {
  account: optional(accountId, 'only changes of this account'),
  actor: optional(text(256, 'actor'), 'only changes by this person or program: an e-mail, or an actor such as cli/ann@host'),
  action: optional(oneOf(AUDITED_ACTIONS, 'action'), 'only this action, such as key.create'),
  target: optional(text(256, 'target'), 'only changes of this row, such as key/<id> or month/2027-01'),
  ...TIME_FILTER,
  limit: optional(wholeNumber(1, 200), `entries on a page; default ${LIMIT_DEFAULT}`),
  cursor,
} satisfies Parameters;

/** Unlike other lists, it merges those of several services. One cursor fits all, because ids are in the order of time. */
export const auditCommands: readonly CliCommand[] = [
  {
    name: 'audit',
    summary: 'Show who changed accounts, projects, keys, money, the catalog and people, and who signed in, newest first',
    parameters: PARAMETERS,
    examples: [
      'audit --since 7d',
      'audit --account acme --from 2027-01-01',
      'audit --actor ada@example.com',
      'audit --action key.create --json',
    ],
    async run(values, json, connect) {
      const { from, since } = values as Values<typeof PARAMETERS>;
      const start = readStart({ from, since });
      const messaging = await connect();
      const complete = (await completeIds(PARAMETERS, values, messaging)) as unknown as Values<typeof PARAMETERS>;
      const { account, actor, action, target, to, cursor, limit = LIMIT_DEFAULT } = complete;
      const request = {
        accountId: account,
        actor: actor && (await findActor(actor, messaging)),
        action,
        target,
        from: start,
        to,
        cursor,
        limit,
      };
      const journals = await Promise.all([
        messaging.request(billingAuditList, request),
        messaging.request(catalogAuditList, request),
        // The panel is optional, and must not hide the answers of the others.
        messaging.request(panelAuditList, request).catch(nameAbsence),
        messaging.request(paymentsAuditList, request).catch(emptyWhereItIsOff),
      ]);
      const notRead = journals.flatMap((journal) => ('panelNotRead' in journal ? [journal.panelNotRead] : []));
      const page = merge(journals, limit);
      if (json)
        return { text: JSON.stringify({ ...page, ...(notRead.length > 0 && { panelNotRead: notRead[0] }) }, null, 2), failed: false };
      const lines = [
        renderPage(page, await readWords(page, messaging)),
        ...notRead.map((why) => `without the journal of the panel: ${why}`),
      ];
      return { text: lines.join('\n') + morePages(page.nextCursor, { from: start }), failed: false };
    },
  },
];

function nameAbsence(error: unknown): AuditListReply & { panelNotRead: string } {
  if (!(error instanceof MessagingError)) throw error;
  return { entries: [], nextCursor: null, panelNotRead: error.message };
}

/** Payments by card are optional: without an answer there is no such journal. */
function emptyWhereItIsOff(error: unknown): AuditListReply {
  if (error instanceof MessagingError && error.kind === 'unavailable') return { entries: [], nextCursor: null };
  throw error;
}

function merge(replies: readonly AuditListReply[], limit: number): AuditListReply {
  const entries = replies.flatMap((reply) => reply.entries).sort((one, other) => (one.id < other.id ? 1 : -1));
  const page = entries.slice(0, limit);
  const hasMore = entries.length > limit || replies.some(({ nextCursor }) => nextCursor !== null);
  return { entries: page, nextCursor: hasMore ? (page.at(-1)?.id ?? null) : null };
}

function renderPage({ entries }: AuditListReply, words: AuditWords): string {
  return renderTable(entries, 'no changes', {
    AT: ({ at }) => renderTime(at),
    WHO: (entry) => nameActor(entry, words),
    CHANGE: (entry) => describeAudit(entry, words),
    REASON: ({ reason }) => reason,
  });
}

/** Returns the name of the person or program, or the actor as it is. */
function nameActor({ actor, actorName }: AuditEntry, words: AuditWords): string {
  const [, kind = '', id = ''] = /^([^/]*)\/(.*)$/.exec(actor) ?? [];
  return actorName ?? words.name(kind, id) ?? actor;
}

/** Reads the names of what the entries are about. */
async function readWords({ entries }: AuditListReply, messaging: Messaging): Promise<AuditWords> {
  const [names, people] = await Promise.all([readNames(messaging, ['account', 'project', 'key']), listPeople(messaging).catch(() => [])]);
  const emails = new Map(people.map(({ userId, email }) => [userId, email]));
  const budgets = await readBudgets(entries, messaging, names);
  const find = (kind: string, id: string): string | undefined => {
    if (kind === 'user') return emails.get(id);
    if (kind === 'budget') return budgets.get(id);
    if (kind !== 'account' && kind !== 'project' && kind !== 'key') return undefined;
    const name = names(kind, id);
    return name === shortenId(id) ? undefined : name;
  };
  return { name: find, usd: (picoUsd) => renderDollars(String(picoUsd)), time: (at) => renderTime(at) ?? at };
}

/** Describes the changed budgets whose rows of earlier versions do not say what they are of, as far as they still exist. */
async function readBudgets(entries: readonly AuditEntry[], messaging: Messaging, names: Names): Promise<Map<string, string>> {
  const accounts = new Set(
    entries.flatMap(({ action, accountId, after }) =>
      action === 'budget.update' && after?.period === undefined && accountId ? [accountId] : [],
    ),
  );
  const lists = await Promise.all(
    [...accounts].slice(0, ACCOUNTS_MAX).map((accountId) => messaging.request(budgetList, { accountId }).catch(() => ({ budgets: [] }))),
  );
  return new Map(lists.flatMap(({ budgets }) => budgets.map((budget) => [budget.budgetId, describeBudget(budget, names)] as const)));
}

/** Returns the actor that a person is in the journals. An actor, which has a slash, is returned as it is. */
async function findActor(typed: string, messaging: Messaging): Promise<string> {
  if (typed.includes('/')) return typed;
  const found = (await listPeople(messaging)).filter(({ email, name }) =>
    [email, name].some((text) => text.toLowerCase() === typed.toLowerCase()),
  );
  const [only] = found;
  if (only === undefined) throw new UsageError(`there is no person ${typed}: give an e-mail, or an actor such as cli/ann@host`);
  if (found.length > 1)
    throw new UsageError(`${typed} is the name of ${found.length} people: ${found.map(({ email }) => email).join(', ')}`);
  return `user/${only.userId}`;
}

async function listPeople(messaging: Messaging): Promise<PanelUser[]> {
  const people: PanelUser[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PEOPLE_PAGES_MAX; page++) {
    const { users, nextCursor } = await messaging.request(panelUserList, { cursor });
    people.push(...users);
    if (nextCursor === null) break;
    cursor = nextCursor;
  }
  return people;
}
