import { type InfiniteData, keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, callApi, type Method } from './api.js';
import { isTouched } from './touched.js';

interface ApiOptions {
  refetchMs?: number | undefined;
  /** Errors that the page shows in its own way. It shows all others by itself (`usePageFailure`). */
  handles?: ApiError['code'][];
}

/** The reply of `GET path`, kept while the next one loads, so that a page with a new filter does not jump. `path` null: no call. */
export function useApi<T>(path: string | null, { refetchMs, handles }: ApiOptions = {}) {
  return useQuery<T, Error>({
    queryKey: [path],
    queryFn: ({ signal }) => callApi<T>('GET', path ?? '', { signal }),
    enabled: path !== null,
    placeholderData: keepPreviousData,
    refetchInterval: refetchMs ?? false,
    meta: { handles },
  });
}

/** A change: `request` describes it, and afterwards the page loads again what shows it. */
export function useChange<Reply, Input = void>(request: (input: Input) => { method: Method; path: string; body?: unknown }) {
  const client = useQueryClient();
  return useMutation<Reply, Error, Input>({
    mutationFn: (input) => {
      const { method, path, body } = request(input);
      return callApi<Reply>(method, path, { body });
    },
    onSuccess: (_reply, input) => {
      const { path } = request(input);
      return client.invalidateQueries({ predicate: ({ queryKey }) => isTouched(`${queryKey.at(-1)}`, path) });
    },
    // What another person changed meanwhile.
    onError: (error) => (error instanceof ApiError && error.code === 'conflict' ? client.invalidateQueries() : undefined),
  });
}

/** A list of the API that goes on by `nextCursor`. */
export function usePages<T extends { nextCursor: string | null }>(path: string, { refetchMs }: { refetchMs?: number | undefined } = {}) {
  return useInfiniteQuery<T, Error, InfiniteData<T>, string[], string | null>({
    queryKey: ['pages', path],
    queryFn: ({ signal, pageParam }) =>
      callApi<T>('GET', pageParam ? `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(pageParam)}` : path, { signal }),
    initialPageParam: null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: refetchMs ?? false,
  });
}
