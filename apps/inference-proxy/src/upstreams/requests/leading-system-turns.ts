import type { Turn } from '#inference/turn.js';

/** Returns how many system turns a conversation begins with. */
export function countLeadingSystemTurns(turns: readonly Turn[]): number {
  const firstOther = turns.findIndex(({ role }) => role !== 'system');
  return firstOther === -1 ? turns.length : firstOther;
}
