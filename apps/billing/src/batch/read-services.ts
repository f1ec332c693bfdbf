import { awaitAll, type PgConnection } from '#database/pg-connection.js';
import { statement } from '../sql/statement.js';
import { type ServiceState, serviceAt } from './service-state.js';

interface ServiceRow {
  service: string;
  day: number;
  spent: string;
  held: string;
  open_holds: number;
  day_max: string | null;
  open_holds_max: number | null;
}

const ADD_SERVICES = statement<readonly string[]>(
  'add_services',
  (inputs) => `INSERT INTO billing.service_use (service)
    SELECT name FROM unnest(${inputs.array('text', (names) => names)}) AS name ORDER BY name ON CONFLICT (service) DO NOTHING`,
);

/** Ascending, so that two batches cannot deadlock. */
const LOCK_SERVICES = statement<readonly string[], ServiceRow>(
  'lock_services',
  (
    inputs,
  ) => `SELECT service, extract(epoch FROM day)::float8 * 1000 AS day, spent::text, held::text, open_holds, day_max::text, open_holds_max
    FROM billing.service_use WHERE service = ANY (${inputs.array('text', (names) => names)}) ORDER BY service FOR NO KEY UPDATE`,
);

/**
 * Locks what services use of their ceilings and reads it, in the transaction that has locked the accounts of the batch. Every transaction locks
 * accounts first, so that two batches of different accounts only wait for each other.
 */
export async function readServices(connection: PgConnection, names: ReadonlySet<string>, now: number): Promise<Map<string, ServiceState>> {
  if (names.size === 0) return new Map();
  const wanted = [...names].sort();
  const [, { rows }] = await awaitAll([ADD_SERVICES.execute(connection, wanted), LOCK_SERVICES.execute(connection, wanted)]);
  return new Map(rows.map((row) => [row.service, serviceAt(toState(row), now)]));
}

function toState(row: ServiceRow): ServiceState {
  return {
    service: row.service,
    day: row.day,
    spent: BigInt(row.spent),
    held: BigInt(row.held),
    openHolds: row.open_holds,
    dayMax: row.day_max === null ? null : BigInt(row.day_max),
    openHoldsMax: row.open_holds_max,
  };
}
