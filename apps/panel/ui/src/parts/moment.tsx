import { useZone } from '../data/time-zone.js';
import styles from './moment.module.css';
import { formatTime, inBothZones, inUtc, type TimeFormat, utcDay, zoneName } from './time.js';

interface MomentProps {
  at: string;
  /** The time of day, the day, or both. */
  format?: TimeFormat;
  /** Names the zone behind it, where no head of a column does. */
  named?: boolean;
}

/** A moment in the zone that the person has chosen. Hovering shows it in local time and in UTC; it is copied exact and in UTC. */
export function Moment({ at, format = 'both', named }: MomentProps) {
  const zone = useZone();
  return (
    <>
      <time dateTime={at} title={inBothZones(at)} data-exact={inUtc(at)}>
        {formatTime(at, format, zone)}
      </time>
      {named && ` ${zoneName(zone, at)}`}
    </>
  );
}

/** The name of the zone of the moments in a column, behind its head. */
export function ZoneMark() {
  return <span className={styles.zone}>{zoneName(useZone(), Date.now())}</span>;
}

/** A day in UTC, as usage and plans have them. */
export function UtcDay({ at }: { at: string }) {
  return <time dateTime={at}>{utcDay(at)}</time>;
}
