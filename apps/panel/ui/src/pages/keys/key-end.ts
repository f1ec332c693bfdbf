const DAY_MS = 86_400_000;

/** Lifetimes that a person chooses from, in days. */
const LIFETIME_DAYS = [1, 7, 30, 90, 365];

/** A choice of a key's end: as it is, none, or a number of days from now. */
export type EndChoice = 'keep' | 'never' | number;

/** Returns `expiresAt` of a request: null for no end, undefined to leave the end as it is. */
export function resolveEnd(choice: EndChoice, now: number): string | null | undefined {
  if (choice === 'keep') return undefined;
  return choice === 'never' ? null : new Date(now + choice * DAY_MS).toISOString();
}

/** Returns the lifetimes to choose from, in days: those that end by `latest`, or all. */
export function lifetimesUntil(latest: string | undefined, now: number): number[] {
  return LIFETIME_DAYS.filter((days) => latest === undefined || now + days * DAY_MS <= Date.parse(latest));
}
