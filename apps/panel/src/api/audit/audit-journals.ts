import {
  type AuditCheckReply,
  type AuditListRequest,
  billingAuditList,
  catalogAuditCheck,
  catalogAuditList,
  paymentsAuditList,
} from '#contracts/audit.js';
import { type AskServices, isOff } from '../../services/services.js';
import type { AuditEntry, AuditListReply } from '../../shapes/audit.js';
import type { JournalCheckListReply } from '../../shapes/billing.js';

const LIMIT_DEFAULT = 100;

/** A page of one journal, newest first. */
interface JournalPage {
  entries: Omit<AuditEntry, 'service'>[];
  nextCursor: string | null;
}

type ReadJournal = (query: AuditListRequest) => Promise<JournalPage>;

/** The panel's own journal. */
interface OwnJournal {
  list: (query: AuditListRequest, reader: string) => Promise<JournalPage>;
  check: () => Promise<AuditCheckReply>;
}

/** The audit journals of billing, catalog, the panel and payments, as one list. Ids are UUIDs v7, so one cursor fits all journals. */
export class AuditJournals {
  constructor(
    private readonly services: AskServices,
    readonly own: OwnJournal,
  ) {}

  /** `services` asks for the reader. */
  async list(query: AuditListRequest, services: AskServices, reader: string): Promise<AuditListReply> {
    const limit = query.limit ?? LIMIT_DEFAULT;
    const journals: Record<AuditEntry['service'], ReadJournal> = {
      billing: (asked) => services.ask(billingAuditList, asked),
      catalog: (asked) => services.ask(catalogAuditList, asked),
      panel: (asked) => this.own.list(asked, reader),
      payments: (asked) => services.ask(paymentsAuditList, asked).catch(emptyWhereItIsOff),
    };
    const pages = await Promise.all(
      (Object.keys(journals) as AuditEntry['service'][]).map(async (service) => {
        const { entries, nextCursor } = await journals[service]({ ...query, limit });
        return { entries: entries.map((entry) => ({ ...entry, service })), hasMore: nextCursor !== null };
      }),
    );
    return mergePages(pages, limit);
  }

  /** Checks the chains of catalog and panel. Billing checks its own with the ledger. */
  async check(): Promise<JournalCheckListReply> {
    const [catalog, panel] = await Promise.all([this.services.ask(catalogAuditCheck, {}), this.own.check()]);
    return {
      journals: [
        { service: 'catalog', ...catalog },
        { service: 'panel', ...panel },
      ],
    };
  }
}

/** Payments by card are optional: without an answer there is no such journal. */
function emptyWhereItIsOff(error: unknown): JournalPage {
  if (isOff(error)) return { entries: [], nextCursor: null };
  throw error;
}

/** Merges pages of as many journals, each newest first. Entries beyond `limit` come again on the next page. */
export function mergePages(pages: readonly { entries: readonly AuditEntry[]; hasMore: boolean }[], limit: number): AuditListReply {
  const merged = pages.flatMap(({ entries }) => entries).sort((one, other) => (one.id < other.id ? 1 : -1));
  const entries = merged.slice(0, limit);
  const hasMore = merged.length > limit || pages.some((page) => page.hasMore);
  return { entries, nextCursor: hasMore ? (entries.at(-1)?.id ?? null) : null };
}
