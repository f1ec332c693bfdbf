const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

/** The month of a moment in UTC: `2026-11`. */
export function toMonth(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7);
}

/** The month before or after: `monthAfter('2026-12', 1)` is `2027-01`. */
export function monthAfter(month: string, months: number): string {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return toMonth(Date.UTC(year, number - 1 + months, 1));
}

/** The month of an address, or the present one when it names none. */
export function readMonth(search: string, now: number): string {
  const month = new URLSearchParams(search).get('month');
  return month && MONTH.test(month) ? month : toMonth(now);
}

/** Milliseconds after its end at which billing closes a month by itself. */
const SEALED_AFTER_MS = 3 * 86_400_000;

/** True when the month of a moment is closed, unless something keeps it open. */
export function isSealed(at: string, now: number): boolean {
  return now > Date.parse(`${monthAfter(at.slice(0, 7), 1)}-01`) + SEALED_AFTER_MS;
}
