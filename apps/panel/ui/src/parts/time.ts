import type { Zone } from '../data/time-zone.js';

const DAY_MS = 86_400_000;
const PARTS: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' };
const CLOCK: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' };

const FORMATS = { both: { ...PARTS, ...CLOCK }, time: CLOCK, day: { ...PARTS, year: 'numeric' } } as const;
export type TimeFormat = keyof typeof FORMATS;
const ZONED = { local: mapFormats(undefined), utc: mapFormats('UTC') };

/** `23 Nov, 14:02:31`, `14:02:31` or `23 Nov 2026`, in the local zone or in UTC. */
export function formatTime(at: string, format: TimeFormat, zone: Zone): string {
  return ZONED[zone][format](at);
}

/** `23 Nov 2026` in the local zone. */
export const localDay = ZONED.local.day;
/** `23 Nov 2026` in UTC. */
export const utcDay = formatter({ ...PARTS, year: 'numeric', timeZone: 'UTC' });
/** `23 Nov` in UTC. */
export const utcShortDay = formatter({ ...PARTS, timeZone: 'UTC' });
/** `14:00` in UTC. */
export const utcHour = formatter({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone: 'UTC' });
/** `November 2026` in UTC. */
export const utcMonth = formatter({ month: 'long', year: 'numeric', timeZone: 'UTC' });

const LOCAL = formatter({ ...PARTS, ...CLOCK, year: 'numeric', timeZoneName: 'short' });
const LOCAL_NAME = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' });

/** The short name of a zone at a moment, which has summer time or not: `CET`, `GMT-5`, `UTC`. */
export function zoneName(zone: Zone, at: string | number): string {
  if (zone === 'utc') return 'UTC';
  return LOCAL_NAME.formatToParts(new Date(at)).find(({ type }) => type === 'timeZoneName')?.value ?? '';
}

/** A moment in both zones: `23 Nov 2026, 14:02:31 CET, 2026-11-23 13:02:31.204 UTC`. */
export function inBothZones(at: string): string {
  return `${LOCAL(at)}, ${inUtc(at)}`;
}

/** `2026-11-23 13:02:31.204 UTC`. */
export function inUtc(at: string): string {
  return `${new Date(at).toISOString().replace('T', ' ').replace('Z', '')} UTC`;
}

/** `340 ms`, `2.4 s`, `3 min 20 s`, `5 h 10 min`, `4 days`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  if (ms < 2 * DAY_MS) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(ms / DAY_MS)} days`;
}

/** `3 min ago`, or `in 4 days`. */
export function relativeTime(at: string, now: number): string {
  const ms = now - Date.parse(at);
  if (Math.abs(ms) < 45_000) return 'just now';
  const steps: [ms: number, unit: string][] = [
    [DAY_MS, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
  ];
  const [size, unit] = steps.find(([step]) => Math.abs(ms) >= step) ?? [60_000, 'minute'];
  const count = Math.round(Math.abs(ms) / size);
  const text = `${count} ${unit}${count === 1 ? '' : 's'}`;
  return ms > 0 ? `${text} ago` : `in ${text}`;
}

function mapFormats(timeZone: 'UTC' | undefined): Record<TimeFormat, (at: string) => string> {
  const format = (name: TimeFormat) => formatter({ ...FORMATS[name], ...(timeZone && { timeZone }) });
  return { both: format('both'), time: format('time'), day: format('day') };
}

function formatter(options: Intl.DateTimeFormatOptions): (at: string | number) => string {
  const format = new Intl.DateTimeFormat('en-GB', options);
  return (at) => format.format(new Date(at));
}
