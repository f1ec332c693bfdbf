import { catalogChanged } from '#contracts/catalog.js';
import type { Messaging } from '#messaging/messaging.js';

/** Revisions as they are told to everybody, by this replica and by the others. */
export class Announcements {
  #last = 0;

  constructor(private readonly messaging: Pick<Messaging, 'publish'>) {}

  /** The revision that was told last; 0 when that is not known. */
  get last(): number {
    return this.#last;
  }

  /** Tells of a revision, unless it was the last one told. */
  tell(revision: number): void {
    if (revision === this.#last) return;
    this.#last = revision;
    this.messaging.publish(catalogChanged, { revision });
  }

  /** Another replica told of it, or we hear ourselves. */
  heard(revision: number): void {
    this.#last = revision;
  }

  /** The connection was lost: what was told last may have reached nobody, so it is told again. */
  forget(): void {
    this.#last = 0;
  }
}
