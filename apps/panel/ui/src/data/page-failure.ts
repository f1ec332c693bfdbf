import { notifyManager, type Query, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import { ApiError } from './api.js';

/** Milliseconds after which a page that still waits for its first data says so. People take a longer silence for a fault. */
const PATIENCE_MS = 2_500;

const LATE = new ApiError('The panel is slow to answer. This page still waits for it.', 'late');

export interface PageFailure {
  error: Error;
  /** Asks for everything again that failed or is late. */
  retry: () => void;
}

/**
 * The failure of the calls that the page on screen needs: the first one that failed, or that the page has waited for its data too long. Pages
 * need no error handling of their own. `useApi` names the errors that its page handles itself.
 */
export function usePageFailure(): PageFailure | undefined {
  const client = useQueryClient();
  const cache = client.getQueryCache();
  const subscribe = useCallback((listener: () => void) => cache.subscribe(notifyManager.batchCalls(listener)), [cache]);
  const active = () => cache.findAll({ type: 'active' });
  const failed = useSyncExternalStore(subscribe, () => active().find(findFailure)?.queryHash);
  const isLate = useLate(useSyncExternalStore(subscribe, () => active().some(isWaiting)));
  const query = failed === undefined ? undefined : cache.get(failed);
  const error = (query && findFailure(query)) ?? (isLate ? LATE : undefined);
  if (!error) return undefined;
  const retry = () => {
    const queries = new Set(active().filter((one) => findFailure(one) || isWaiting(one)));
    const predicate = (one: Query) => queries.has(one);
    void client.cancelQueries({ predicate }).then(() => client.refetchQueries({ predicate }));
  };
  return { error, retry };
}

/** True after `PATIENCE_MS` of waiting. */
export function useLate(isWaitingNow: boolean): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (!isWaitingNow) return;
    const timer = setTimeout(() => setLate(true), PATIENCE_MS);
    return () => clearTimeout(timer);
  }, [isWaitingNow]);
  return isLate && isWaitingNow;
}

/** The error of a call, also while it is made again. */
function findFailure({ state, meta }: Query): Error | undefined {
  const error = (state.error ?? (state.fetchStatus === 'idle' ? null : state.fetchFailureReason)) as Error | null;
  if (!error) return undefined;
  return error instanceof ApiError && (meta?.handles as string[] | undefined)?.includes(error.code) ? undefined : error;
}

function isWaiting({ state }: Query): boolean {
  return state.status === 'pending' && state.fetchStatus !== 'idle';
}
