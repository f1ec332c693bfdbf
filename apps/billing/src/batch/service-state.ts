/** Use that a service makes of its ceilings, of all accounts together: a row of `billing.service_use`. Amounts are pico-USD. */
export interface ServiceState {
  service: string;
  /** Start of the day (UTC) that `spent` is of, in milliseconds. */
  day: number;
  /** Cost of what was settled on the day, less what late settlements gave back of it. */
  spent: bigint;
  held: bigint;
  openHolds: number;
  /** Ceilings, as of the last reserve. Null: none. */
  dayMax: bigint | null;
  openHoldsMax: number | null;
}

const DAY_MS = 86_400_000;

/** Returns the state on the day of `now`. A clock that was set back begins no day: what is spent counts in the later one. */
export function serviceAt(state: ServiceState, now: number): ServiceState {
  const day = Math.floor(now / DAY_MS) * DAY_MS;
  return day > state.day ? { ...state, day, spent: 0n } : state;
}
