import type { Endpoint, Topic } from '#contracts/endpoint.js';
import type { RevisionChanged, Revisioned, RevisionRequest } from '#contracts/revisions.js';
import type { Logger } from '#observability/logger.js';
import type { Messaging } from './messaging.js';

/** After a failure it is asked again so soon, then after twice the time each time, up to the longest or the interval. */
const RETRY_MS = { first: 20, longest: 1_000 };

export interface Followed<Reply extends Revisioned> {
  endpoint: Endpoint<RevisionRequest, Reply>;
  changed: Topic<RevisionChanged>;
  /** How often it is asked although nothing was announced. */
  refreshMs: number;
  /** Makes our copy equal to the reply. Never given an older revision after a newer one, unless the other side itself went back. */
  apply(reply: Reply): void;
}

/**
 * Keeps a copy of what a service has in revisions. It asks at once, on every announcement, after a reconnect (announcements
 * may have been missed), and every so often; and soon again while an answer fails or is older than what is known to exist. An announced
 * revision that no replica has is forgotten.
 */
export class RevisionFollower<Reply extends Revisioned> {
  private applied = 0;
  /** The newest revision that was announced; 0 when no replica could confirm it. */
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

  /** Returns how to stop. */
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

  /** One request at a time; when asked meanwhile another follows, since it may bring more, and is waited for. Never rejects. */
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
      // There is no such revision; what is announced while we ask is another one.
      if (isBehind && reply.wentBack && this.announced === announced) this.announced = 0;
      // Only of what was applied is `wentBack` believed: an announcement that is not true must not make an older revision welcome.
      if (isBehind && !(reply.wentBack && (reply.revision >= applied || known === applied))) {
        throw new Error(`revision ${known} is known, and ${reply.revision} came`);
      }
      apply(reply);
      this.applied = reply.revision;
      this.failures = 0;
    } catch (error) {
      // Once an outage.
      if (this.failures === 0 && !this.stopped)
        this.logger.warn({ err: error, subject: endpoint.subject, known }, 'not refreshed, asking again; what was read last stays');
      this.failures++;
    }
  }
}
