import { type InfiniteData, keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, callApi, type Method } from './api.js';

/** Milliseconds between two attempts while the panel does not answer. */
const RETRY_MS = 2_000;

/**
 * The reply of `GET path`, kept while the next one loads, so that a page with a new filter does not jump. `path` null: no call. A panel that
 * does not answer is asked again until it does.
 */
export function useApi<T>(path: string | null, { refetchMs }: { refetchMs?: number } = {}) {
  return useQuery<T, Error>({
    queryKey: [path],
    queryFn: ({ signal }) => callApi<T>('GET', path ?? '', { signal }),
    enabled: path !== null,
    placeholderData: keepPreviousData,
    refetchInterval: refetchMs ?? false,
    retry: (count, error) => isUnreachable(error) || (count < 2 && error instanceof ApiError && error.code === 'unavailable'),
    retryDelay: RETRY_MS,
  });
}

/** A change: `run` makes it, and afterwards every page loads its data again. */
export function useChange<Reply, Input = void>(request: (input: Input) => { method: Method; path: string; body?: unknown }) {
  const client = useQueryClient();
  return useMutation<Reply, Error, Input>({
    mutationFn: (input) => {
      const { method, path, body } = request(input);
      return callApi<Reply>(method, path, { body });
    },
    onSuccess: () => client.invalidateQueries(),
    // What another person changed meanwhile.
    onError: (error) => (error instanceof ApiError && error.code === 'conflict' ? client.invalidateQueries() : undefined),
  });
}

export function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unreachable';
}

/** A list of the API that goes on by `nextCursor`. */
export function usePages<T extends { nextCursor: string | null }>(path: string, { refetchMs }: { refetchMs?: number } = {}) {
  return useInfiniteQuery<T, Error, InfiniteData<T>, string[], string | null>({
    queryKey: ['pages', path],
    queryFn: ({ signal, pageParam }) =>
      callApi<T>('GET', pageParam ? `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(pageParam)}` : path, { signal }),
    initialPageParam: null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: refetchMs ?? false,
    retry: (_, error) => isUnreachable(error),
    retryDelay: RETRY_MS,
  });
}
