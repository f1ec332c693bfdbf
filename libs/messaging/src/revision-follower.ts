import type { Endpoint, Topic } from '#contracts/endpoint.js';
import type { RevisionChanged, Revisioned, RevisionRequest } from '#contracts/revisions.js';
import type { Logger } from '#observability/logger.js';
import type { Messaging } from './messaging.js';

/** Delay after a failure, doubled each time up to `longest` or the refresh interval. */
const RETRY_MS = { first: 20, longest: 1_000 };

interface Followed<Reply extends Revisioned> {
  endpoint: Endpoint<RevisionRequest, Reply>;
  changed: Topic<RevisionChanged>;
  /** Interval of requests without an announcement. */
  refreshMs: number;
  /** Replaces the copy by the reply. Never called with an older revision, unless the owner itself went back. */
  apply(reply: Reply): void;
}

/**
 * Keeps a copy of revisioned data of another service. Requests it at the start, on every announcement, after a reconnect (announcements
 * may have been missed) and every `refreshMs`. Retries while requests fail or return an older revision than announced. Forgets an
 * announced revision that no replica has.
 */
export class RevisionFollower<Reply extends Revisioned> {
  private applied = 0;
  /** Newest announced revision; 0 when no replica has it. */
  private announced = 0;
  private asking: Promise<void> | undefined;
  private wanted = false;
  private failures = 0;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(
    private readonly messaging: Messaging,
    private readonly followed: Followed<Reply>,
    private readonly logger: Logger,
  ) {}

  /** Returns the function that stops following. */
  start(): () => void {
    const unsubscribe = this.messaging.subscribe(this.followed.changed, ({ revision }) => {
      this.announced = Math.max(this.announced, revision);
      void this.refresh();
    });
    this.messaging.onReconnect(() => {
      if (!this.stopped) void this.refresh();
    });
    void this.refresh();
    return () => {
      this.stopped = true;
      clearTimeout(this.timer);
      unsubscribe();
    };
  }

  /** Requests one at a time. A call during a request adds one more, which may return a newer revision. Never rejects. */
  refresh(): Promise<void> {
    this.wanted = true;
    this.asking ??= this.askWhileWanted();
    return this.asking;
  }

  private async askWhileWanted(): Promise<void> {
    clearTimeout(this.timer);
    while (this.wanted) {
      this.wanted = false;
      await this.ask();
    }
    this.asking = undefined;
    if (!this.stopped) this.timer = setTimeout(() => void this.refresh(), this.waitMs()).unref();
  }

  private waitMs(): number {
    const { refreshMs } = this.followed;
    if (this.failures === 0) return refreshMs;
    return Math.min(refreshMs, RETRY_MS.longest, RETRY_MS.first * 2 ** (this.failures - 1));
  }

  private async ask(): Promise<void> {
    const { applied, announced } = this;
    const known = Math.max(applied, announced);
    const { endpoint, apply } = this.followed;
    try {
      const reply = await this.messaging.request(endpoint, { known });
      if (this.stopped) return;
      const isBehind = reply.revision < known;
      // The announced revision does not exist, unless it was announced during this request.
      if (isBehind && reply.wentBack && this.announced === announced) this.announced = 0;
      // `wentBack` counts only against an applied revision: a false announcement must not let an older revision in.
      if (isBehind && !(reply.wentBack && (reply.revision >= applied || known === applied))) {
        throw new Error(`revision ${reply.revision} is older than the known revision ${known}`);
      }
      apply(reply);
      this.applied = reply.revision;
      this.failures = 0;
    } catch (error) {
      // Logged once for each outage.
      if (this.failures === 0 && !this.stopped)
        this.logger.warn({ err: error, subject: endpoint.subject, known }, 'refresh failed; keeping the last revision and retrying');
      this.failures++;
    }
  }
}
