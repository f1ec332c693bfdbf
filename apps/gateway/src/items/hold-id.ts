import { ServiceError } from '#contracts/service-error.js';

/** The clocks of services differ, and a reserve may be repeated for a while. The month of the journal is the month of the id. */
const AGE_MAX_MS = 86_400_000;

/** @throws {ServiceError} `invalid_request` for an id that is no UUID v7 of now. */
export function checkHoldId(holdId: string, now: number): void {
  const [, time] = /^([0-9a-f]{8}-[0-9a-f]{4})-7/.exec(holdId) ?? [];
  if (time !== undefined && Math.abs(Number.parseInt(time.replace('-', ''), 16) - now) <= AGE_MAX_MS) return;
  throw new ServiceError('invalid_request', 'holdId must be a UUID of version 7 that was made now: it begins with the time.', 'holdId');
}
