import type { KeyRow } from '../../../../src/shapes/billing.js';
import type { Tone } from '../../data/outcomes.js';
import { relativeTime } from '../../parts/time.js';

const MINUTE_MS = 60_000;
/** An end that is closer than this is shown as a warning. */
const SOON_MS = 7 * 86_400_000;

/** The state of a key in words: that of its badge, and the line below it. */
export interface KeyWords {
  tone: Tone;
  state: string;
  more: string | null;
}

export function keyWords({ status, expiresAt, replacedBy, revokedAt }: KeyRow, now: number): KeyWords {
  const leftMs = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - now;
  const ends = expiresAt && `ends ${leftMs < MINUTE_MS ? 'within a minute' : relativeTime(expiresAt, now)}`;
  switch (status) {
    case 'active':
      return { tone: leftMs < SOON_MS ? 'warn' : 'good', state: replacedBy ? 'Replaced' : 'Active', more: ends };
    case 'disabled':
      return { tone: 'warn', state: 'Disabled', more: ends };
    case 'expired':
      return { tone: 'neutral', state: replacedBy ? 'Replaced' : 'Expired', more: expiresAt && `ended ${relativeTime(expiresAt, now)}` };
    case 'revoked':
      return { tone: 'neutral', state: 'Revoked', more: revokedAt && relativeTime(revokedAt, now) };
  }
}

/** The name of a key, or the end of the key itself. */
export function keyTitle({ name, lastFour }: Pick<KeyRow, 'name' | 'lastFour'>): string {
  return name ?? `tg_live_…${lastFour}`;
}
