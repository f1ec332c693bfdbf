import type { EndedRequest } from '#contracts/gateway.js';
import type { JournalReads } from '#database/journal-reads.js';
import type { TrafficReply } from '../shapes/traffic.js';
import { queryTraffic, type TrafficQuery } from './query-traffic.js';

/** A request id with its time, a UUIDv7. */
const REQUEST_ID = /^req_([0-9a-f]{12})7[0-9a-f]{19}$/;

/** Reads what was recorded. */
export class Activity {
  constructor(private readonly reads: JournalReads) {}

  /** @throws {PanelError} `invalid_request` for the range. */
  traffic(query: TrafficQuery, reader: string): Promise<TrafficReply> {
    return this.reads.read(reader, ['traffic', query], (prisma) => queryTraffic(prisma, query));
  }

  /** Returns a request as its gateway reported it; undefined when it is not recorded. */
  async show(requestId: string, reader: string): Promise<(EndedRequest & { accountId: string }) | undefined> {
    const [, time] = REQUEST_ID.exec(requestId) ?? [];
    if (time === undefined) return undefined;
    const receivedAt = new Date(Number.parseInt(time, 16));
    const where = { receivedAt_requestId: { receivedAt, requestId } };
    const row = await this.reads.read(reader, ['activity', requestId], (prisma) => prisma.activityRequest.findUnique({ where }));
    return row ? { ...(row.details as unknown as EndedRequest), accountId: row.accountId } : undefined;
  }
}
