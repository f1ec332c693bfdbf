import { type AuditEntry, type AuditListReply, billingAuditList, catalogAuditList } from '#contracts/audit.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { completeIds } from '../complete-ids.js';
import { accountId, cursor, instant, optional, text, wholeNumber } from '../parameters.js';
import { morePages, renderTable } from '../render.js';

const LIMIT_DEFAULT = 50;

const PARAMETERS = {
  account: optional(accountId, 'only changes of this account'),
  actor: optional(text(256, 'actor'), 'only changes by this actor, such as cli/ann@host or user/<id>'),
  action: optional(text(100, 'action'), 'only this action, such as key.create'),
  from: optional(instant, 'start time, inclusive'),
  to: optional(instant, 'end time, exclusive'),
  limit: optional(wholeNumber(1, 200), `entries on a page; default ${LIMIT_DEFAULT}`),
  cursor,
} satisfies Parameters;

/** Unlike other lists, it merges those of two services. One cursor fits both, because ids are in the order of time. */
export const auditCommands: readonly CliCommand[] = [
  {
    name: 'audit',
    summary: 'Show who changed accounts, projects, keys, money and the catalog, newest first',
    parameters: PARAMETERS,
    examples: ['audit', 'audit --account <account-id> --from 2027-01-01', 'audit --action key.create --json'],
    async run(values, json, connect) {
      const messaging = await connect();
      const complete = await completeIds(PARAMETERS, values, messaging);
      const { account, limit = LIMIT_DEFAULT, ...filter } = complete as unknown as Values<typeof PARAMETERS>;
      const request = { ...filter, accountId: account, limit };
      const journals = [billingAuditList, catalogAuditList].map((endpoint) => messaging.request(endpoint, request));
      const page = merge(await Promise.all(journals), limit);
      return { text: json ? JSON.stringify(page, null, 2) : renderPage(page), failed: false };
    },
  },
];

function merge(replies: readonly AuditListReply[], limit: number): AuditListReply {
  const entries = replies.flatMap((reply) => reply.entries).sort((one, other) => (one.id < other.id ? 1 : -1));
  const page = entries.slice(0, limit);
  const hasMore = entries.length > limit || replies.some(({ nextCursor }) => nextCursor !== null);
  return { entries: page, nextCursor: hasMore ? (page.at(-1)?.id ?? null) : null };
}

function renderPage({ entries, nextCursor }: AuditListReply): string {
  const columns = {
    AT: (entry: AuditEntry) => entry.at,
    ACTOR: ({ actor, actorName }: AuditEntry) => (actorName === null ? actor : `${actor} (${actorName})`),
    VIA: (entry: AuditEntry) => entry.via,
    ACTION: (entry: AuditEntry) => entry.action,
    TARGET: (entry: AuditEntry) => entry.target,
    ACCOUNT: (entry: AuditEntry) => entry.accountId,
    CHANGE: renderChange,
    REASON: (entry: AuditEntry) => entry.reason,
  };
  return renderTable(entries, 'no changes', columns) + morePages(nextCursor);
}

/** Renders fields that have a value before and after. The others are in the output of `--json`. */
function renderChange({ before, after }: AuditEntry): string | null {
  if (before === null || after === null) return null;
  const fields = Object.keys(before).filter((field) => field in after);
  return fields.map((field) => `${field} ${JSON.stringify(before[field])} → ${JSON.stringify(after[field])}`).join(', ') || null;
}
