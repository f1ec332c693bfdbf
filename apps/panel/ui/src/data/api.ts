import { type InfiniteData, keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { PanelErrorBody, PanelErrorCode } from '../../../src/shapes/error.js';
import { type Interruption, interrupt } from './interruption.js';
import { useNarrow } from './place.js';
import { readEvents, type ServerEvent } from './server-events.js';
import { isTouched } from './touched.js';

/** Failure of a call of the panel's API. */
export class ApiError extends Error {
  constructor(
    message: string,
    /** `unreachable`: the panel did not answer. `late`: it has not answered yet. */
    readonly code: PanelErrorCode | 'unreachable' | 'late',
    readonly param: string | null = null,
    /** Names the call in the panel's log, or in the gateway's when that refused it. Null when the panel did not answer. */
    readonly requestId: string | null = null,
    /** True when the id is the gateway's: its request can be explained. */
    readonly isFromGateway = false,
    readonly details: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** Failures that pass without a change of the request: it is made again until it is answered. */
export function isTransient(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'unreachable' || error.code === 'unavailable');
}

/** Milliseconds until reading has failed. The panel itself waits 15 s for a service. It bounds changes: some take minutes. */
const READ_MS = 20_000;

const GATEWAY_REQUEST_ID = 'x-gateway-request-id';

/** Errors that the person can cure in a dialog, after which the call is made again. */
const CURES: Partial<Record<ApiError['code'], Interruption>> = {
  authentication_required: 'sign-in',
  confirmation_required: 'confirm',
};

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE';

/**
 * Calls `/panel/v1` and returns the reply. A session that has ended, and a change that needs the password again, ask in a dialog and go on
 * with the call afterwards. Throws `ApiError`.
 */
export function callApi<T>(method: Method, path: string, options: { body?: unknown; signal?: AbortSignal } = {}): Promise<T> {
  return withCures(() => callOnce<T>(method, path, options));
}

/** The reply of a route that sends events. */
export interface EventReply {
  /** The gateway's id of the request, where the panel passes one on. */
  gatewayRequestId: string | null;
  events: AsyncIterable<ServerEvent>;
}

/** As `callApi`, for a `POST` that replies server-sent events. The signal ends them. */
export function openEvents(path: string, body: unknown, signal: AbortSignal): Promise<EventReply> {
  return withCures(async () => {
    const reply = await send('POST', path, body, signal, signal);
    if (!reply.ok || !reply.body) throw parseError(reply, await reply.text());
    return { gatewayRequestId: reply.headers.get(GATEWAY_REQUEST_ID), events: readEvents(reply.body) };
  });
}

async function withCures<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const cure = error instanceof ApiError ? CURES[error.code] : undefined;
      if (!cure || !(await interrupt(cure))) throw error;
    }
  }
}

/** As `callApi`, without dialogs: for the session itself. */
export async function callOnce<T>(
  method: Method,
  path: string,
  { body, signal }: { body?: unknown; signal?: AbortSignal } = {},
): Promise<T> {
  const limits = [...(signal ? [signal] : []), ...(method === 'GET' ? [AbortSignal.timeout(READ_MS)] : [])];
  const reply = await send(method, path, body, AbortSignal.any(limits), signal);
  const text = await reply.text().catch((error) => fail(error, signal));
  if (!reply.ok) throw parseError(reply, text);
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Sends a call that `signal` ends. By `cancelled` the page ends it itself, which is no failure. */
function send(method: Method, path: string, body: unknown, signal: AbortSignal, cancelled: AbortSignal | undefined): Promise<Response> {
  return fetch(`/panel/v1${path}`, {
    method,
    signal,
    ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  }).catch((error) => fail(error, cancelled));
}

function fail(error: unknown, cancelled: AbortSignal | undefined): never {
  if (cancelled?.aborted) throw error;
  throw new ApiError('The panel does not answer.', 'unreachable');
}

function parseError(reply: Response, text: string): ApiError {
  const gatewayRequestId = reply.headers.get(GATEWAY_REQUEST_ID);
  const requestId = gatewayRequestId ?? reply.headers.get('x-request-id');
  try {
    const { error } = JSON.parse(text) as PanelErrorBody;
    return new ApiError(error.message, error.code, error.param, requestId, gatewayRequestId !== null, error.details);
  } catch {
    // A proxy in front of the panel answered with a page of its own.
    return new ApiError(`The panel's address answered with status ${reply.status}.`, 'unreachable', null, requestId);
  }
}

/** Returns `path` with the parameters that have a value. */
export function withQuery(path: string, parameters: Record<string, string | number | null | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== null && value !== '') query.set(name, `${value}`);
  return query.size > 0 ? `${path}?${query}` : path;
}

interface ApiOptions {
  refetchMs?: number | undefined;
  /** Errors that the page shows in its own way. It shows all others by itself (`usePageFailure`). */
  handles?: ApiError['code'][];
}

/** The reply of `GET path`, about the project of the pages if they are in one, kept while the next one loads, so that a page with a new filter does not jump. Null: no call. */
export function useApi<T>(asked: string | null, { refetchMs, handles }: ApiOptions = {}) {
  const narrow = useNarrow();
  const path = asked === null ? null : narrow(asked);
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

/** A list of the API, narrowed as in `useApi`, that goes on by `nextCursor`. */
export function usePages<T extends { nextCursor: string | null }>(asked: string, { refetchMs, handles }: ApiOptions = {}) {
  const narrow = useNarrow();
  const path = narrow(asked);
  return useInfiniteQuery<T, Error, InfiniteData<T>, string[], string | null>({
    queryKey: ['pages', path],
    queryFn: ({ signal, pageParam }) =>
      callApi<T>('GET', pageParam ? `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(pageParam)}` : path, { signal }),
    initialPageParam: null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
    refetchInterval: refetchMs ?? false,
    meta: { handles },
  });
}
