import type { EndedRequest, TrafficOutcome } from '../../../src/api/shapes/traffic.js';
import type { Tone } from '../parts/badge.js';

/** The result for the client: a complete reply, an error, or nothing because it had left. */
export function outcomeName({ status, code }: Pick<TrafficOutcome, 'status' | 'code'>): string {
  if (code === 'client_disconnected') return 'Client left';
  if (code === null) return status < 400 ? 'Completed' : `Status ${status}`;
  return `${status} ${code}`;
}

export function outcomeTone({ status, code }: Pick<TrafficOutcome, 'status' | 'code'>): Tone {
  if (code === 'client_disconnected') return 'warn';
  if (code === null && status < 400) return 'good';
  return status >= 500 || status < 400 ? 'bad' : 'warn';
}

/** The outcome of one request, as traffic counts it. */
export function outcomeOf({ status, code, outcome }: EndedRequest): Pick<TrafficOutcome, 'status' | 'code'> {
  return { status, code: code ?? (outcome === 'client-disconnected' ? 'client_disconnected' : null) };
}

/** Outcomes that are errors: all but complete replies and clients that left. */
export function isError(outcome: Pick<TrafficOutcome, 'status' | 'code'>): boolean {
  return outcome.code !== 'client_disconnected' && outcomeTone(outcome) !== 'good';
}
