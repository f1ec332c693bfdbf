import type { Writable } from 'node:stream';
import type { EndedRequest } from '#contracts/gateway.js';
import type { LiveRequests, LiveSkipped } from '../shapes/overview.js';

/** Bytes that a client has not read beyond which its requests are skipped. */
export const UNREAD_MAX = 64 * 1024;
/** Requests of one event, some 30 kB. */
const EVENT_REQUESTS_MAX = 50;

/** Milliseconds after which a page that gave way to another opens its stream again. */
const REOPEN_MS = 60_000;

/** Writes requests as server-sent events. A client that reads too slowly misses some, and gets their number. */
export class LiveTail {
  private skipped = 0;

  /** `accountId` and `projectId`: only the requests of this account and project. */
  constructor(
    private readonly response: Pick<Writable, 'write' | 'writableLength'>,
    private readonly accountId: string | undefined,
    /** Leaves out what the person may not see. */
    private readonly show: (request: EndedRequest) => EndedRequest,
    private readonly projectId?: string,
  ) {}

  send(ended: readonly EndedRequest[]): void {
    const { accountId = null, projectId = null } = this;
    const isShown = (one: EndedRequest): boolean =>
      (accountId === null || one.accountId === accountId) && (projectId === null || one.projectId === projectId);
    const requests = ended.filter(isShown);
    for (let at = 0; at < requests.length; at += EVENT_REQUESTS_MAX) {
      const some: LiveRequests = requests.slice(at, at + EVENT_REQUESTS_MAX).map(this.show);
      if (this.isFull) this.skipped += some.length;
      else this.write('requests', some);
    }
  }

  /** Keeps proxies from closing a silent connection, and shows that the client is still there. */
  ping(): void {
    this.response.write(': ping\n\n');
    this.reportSkipped();
  }

  /** Asks the browser to wait before it opens the stream again, so that pages do not take turns in replacing one another. */
  delayNextOpening(): void {
    this.response.write(`retry: ${REOPEN_MS}\n\n`);
  }

  private get isFull(): boolean {
    return this.response.writableLength > UNREAD_MAX;
  }

  private write(event: string, data: object): void {
    this.reportSkipped();
    this.response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  private reportSkipped(): void {
    if (this.skipped === 0 || this.isFull) return;
    const skipped: LiveSkipped = { count: this.skipped };
    this.skipped = 0;
    this.response.write(`event: skipped\ndata: ${JSON.stringify(skipped)}\n\n`);
  }
}
