import type { EndedRequest, RequestAttempt } from '#contracts/gateway.js';

export type { EndedRequest, RequestAttempt };

/** `GET /requests/{requestId}/activity`: what happened to a request, also to a refused one. */
export interface ActivityReply {
  /** Null: nothing is recorded. */
  activity: EndedRequest | null;
}

export type TrafficStep = 'minute' | 'hour' | 'day';
export type TrafficGroup = 'account' | 'project' | 'key' | 'model';

/** `GET /accounts/{a}/traffic?from&to&step&groupBy`; `{a}` is `all` for the whole platform. */
export interface TrafficReply {
  /** Start and end in UTC. The start is that of its minute with the step `minute`, else that of its hour. */
  from: string;
  to: string;
  total: TrafficSums;
  /** In the order of time, then the most requests first. */
  rows: TrafficRow[];
  /** Times in which the panel recorded nothing: the numbers have none of their requests. */
  gaps: TrafficGap[];
}

/** Requests that ended in one time and group; fields that they are not grouped by are absent. */
export interface TrafficRow extends TrafficSums {
  /** Start of the minute, hour or day. */
  start?: string;
  /** Null: the key was not valid. So are the two ids below. */
  accountId?: string | null;
  projectId?: string | null;
  keyId?: string | null;
  /** Null: the request was refused before its model was known. */
  model?: string | null;
}

export interface TrafficSums {
  requests: number;
  /** The most frequent first. */
  outcomes: TrafficOutcome[];
  /** Milliseconds to the first content of streams that completed. Null: there are none. */
  firstContentMs: Percentiles | null;
  /** Milliseconds to the end of requests that completed. */
  durationMs: Percentiles | null;
}

export interface TrafficOutcome {
  /** HTTP status; 499 when the client disconnected before one was sent. */
  status: number;
  /** Code of the error, `client_disconnected` for a client that left, or null for a complete reply. */
  code: string | null;
  requests: number;
}

/** Each is less than 5 % off. */
export interface Percentiles {
  p50: number;
  p95: number;
  p99: number;
}

export interface TrafficGap {
  from: string;
  to: string;
}

/** Data of the event `requests` of `GET /accounts/{a}/live`. */
export type LiveRequests = EndedRequest[];

/** Data of the event `skipped`: the client did not read fast enough. */
export interface LiveSkipped {
  count: number;
}
