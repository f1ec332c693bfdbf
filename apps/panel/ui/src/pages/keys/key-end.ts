const DAY_MS = 86_400_000;

/** Lifetimes that a person chooses from, in days. */
export const LIFETIME_DAYS = [1, 7, 30, 90, 365];

/** A choice of a key's end: as it is, none, or a number of days from now. */
export type EndChoice = 'keep' | 'never' | number;

/** Returns `expiresAt` of a request: null for no end, undefined to leave the end as it is. */
export function endOf(choice: EndChoice, now: number): string | null | undefined {
  if (choice === 'keep') return undefined;
  return choice === 'never' ? null : new Date(now + choice * DAY_MS).toISOString();
}
