import { useSyncExternalStore } from 'react';

/** Zones in which the pages show moments. Charts, statements and budgets without a zone of their own are in UTC. */
export const ZONES = { local: 'Local time', utc: 'UTC' } as const;
export type Zone = keyof typeof ZONES;

const STORAGE_KEY = 'tollgate-zone';
const listeners = new Set<() => void>();

function chosenZone(): Zone {
  return localStorage.getItem(STORAGE_KEY) === 'utc' ? 'utc' : 'local';
}

/** Shows all moments in a zone, and remembers it in this browser. */
export function chooseZone(zone: Zone): void {
  if (zone === 'local') localStorage.removeItem(STORAGE_KEY);
  else localStorage.setItem(STORAGE_KEY, zone);
  for (const listener of listeners) listener();
}

export function useZone(): Zone {
  return useSyncExternalStore(subscribe, chosenZone);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
