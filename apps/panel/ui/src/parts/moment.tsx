import { formatLocalTime, inUtc, localDay, localTime, utcDay } from './time.js';

/** A moment in the local zone, exact and in UTC on hover. `format`: `time` of day, `day`, or both. */
export function Moment({ at, format = 'both' }: { at: string; format?: 'both' | 'time' | 'day' }) {
  const text = { both: localTime, time: formatLocalTime, day: localDay }[format](at);
  return (
    <time dateTime={at} data-exact={inUtc(at)}>
      {text}
    </time>
  );
}

/** A day in UTC, as usage and plans have them. */
export function UtcDay({ at }: { at: string }) {
  return <time dateTime={at}>{utcDay(at)}</time>;
}
