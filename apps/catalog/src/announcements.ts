import { catalogChanged } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';

/** Publishes new revisions, and remembers the last one that this replica or another published. */
export class Announcements {
  private current = 0;

  constructor(private readonly messaging: Pick<Messaging, 'publish'>) {}

  /** The last published revision; 0 when unknown. */
  get last(): number {
    return this.current;
  }

  /** Publishes a revision unless it was the last one published. */
  publish(revision: number): void {
    if (revision === this.current) return;
    this.current = revision;
    this.messaging.publish(catalogChanged, { revision });
  }

  /** Call when an event arrives, of this replica or another. */
  heard(revision: number): void {
    this.current = revision;
  }

  /** Call after a reconnect, when the last event may be lost, and after a change of what is scheduled: the revision is published again. */
  forget(): void {
    this.current = 0;
  }
}
