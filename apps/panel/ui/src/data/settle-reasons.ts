import type { SettleReason } from '../../../src/shapes/billing.js';
import type { Colour, Tone } from '../format/colours.js';

/** Reasons of the end of a request, in words. */
export const REASONS: Record<SettleReason, { name: string; tone: Tone; meaning: string }> = {
  completed: { name: 'Completed', tone: 'good', meaning: 'The model answered to the end.' },
  failed: { name: 'Failed', tone: 'bad', meaning: 'No upstream answered to the end. A failure before any content costs nothing.' },
  'client-disconnected': {
    name: 'Client left',
    tone: 'warn',
    meaning: 'The client closed the connection. It pays for what had been received.',
  },
  released: { name: 'Released', tone: 'neutral', meaning: 'The request ended before an upstream was called. It costs nothing.' },
  'lease-expired': {
    name: 'Lease expired',
    tone: 'warn',
    meaning: 'No service settled in time, so the reaper charged the last meter reading.',
  },
};

export function reasonName(reason: string): string {
  return Object.hasOwn(REASONS, reason) ? REASONS[reason as SettleReason].name : reason;
}

const COLOURS: Record<SettleReason, Colour> = {
  completed: 'good-0',
  'client-disconnected': 'client-0',
  released: 'refused-0',
  failed: 'upstream-0',
  'lease-expired': 'upstream-1',
};

/** The fixed colour of each ending. */
export function reasonColours(reasons: string[]): Map<string, Colour> {
  return new Map(reasons.map((reason) => [reason, COLOURS[reason as SettleReason] ?? 'rest']));
}
