import type { Turn } from '#inference/turn.js';

/** Returns how many system turns a conversation begins with. */
export function countLeadingSystemTurns(turns: readonly Turn[]): number {
  const firstOther = turns.findIndex(({ role }) => role !== 'system');
  return firstOther === -1 ? turns.length : firstOther;
}

/** Returns the texts of these system turns as one, a line each, and `added` behind them; undefined without any text. */
export function joinSystemTexts(turns: readonly Turn[], added = ''): string | undefined {
  const texts = turns.flatMap((turn) => (turn.role === 'system' ? turn.parts.map(({ text }) => text) : []));
  return [...texts, added].filter((text) => text.trim() !== '').join('\n') || undefined;
}
