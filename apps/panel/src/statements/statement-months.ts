/**
 * Milliseconds after the end of a month until its statement is sent: by then every request of the month is in the journal, and the clocks of
 * the services agree that it has ended.
 */
const MARGIN_MS = 3_600_000;

/** The last month whose statement can be sent: `2027-01`, in UTC. */
export function lastEndedMonth(now: number): string {
  const at = new Date(now - MARGIN_MS);
  return renderMonth(at.getUTCFullYear(), at.getUTCMonth() - 1);
}

export function nextMonth(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return renderMonth(year, number);
}

/** `index`: from 0 on; -1 is December of the year before. */
function renderMonth(year: number, index: number): string {
  return new Date(Date.UTC(year, index)).toISOString().slice(0, 7);
}
