import type { Budget } from '#contracts/billing/budgets.js';
import type { KeyRow } from '#contracts/billing/keys.js';
import type { Balance } from '#contracts/billing/money.js';
import type { Project } from '#contracts/billing/projects.js';
import type { UsageRow } from '#contracts/billing/usage.js';
import type { EndedRequest, RequestAttempt } from '#contracts/gateway.js';
import type { Member } from './identity.js';
import type { ListedRequest } from './requests.js';

/** `GET /accounts/{a}/overview?projectId&from&to`; `{a}` is `all` for the whole platform. Default: the last 24 hours. */
export interface Overview {
  from: string;
  to: string;
  /** Null for the whole platform, for one project, and for callers without `money.read` in the account. */
  balance: AccountBalance | null;
  /** Budgets of the account, then of its projects and keys. Empty for the whole platform. */
  budgets: Budget[];
  /** Sums from `from` to `to`, of today and of this month, in UTC. */
  total: UsageSums;
  today: UsageSums;
  month: UsageSums;
  /** Step of `series`: hours up to 7 days, else days. */
  step: 'hour' | 'day';
  /** Hours or days without requests are absent. */
  series: UsageRow[];
  /** From `from` to `to`, most expensive first, at most ten each. */
  byModel: UsageRow[];
  byProject: UsageRow[];
  byKey: UsageRow[];
  /** By reason of the end: completed, failed and so on. */
  byEnding: UsageRow[];
  /** Requests that ended since the start of the hour of `from`, with refused ones, which no sum above has. */
  traffic: OverviewTraffic;
  warnings: OverviewWarning[];
  /**
   * Services of the process that answers: the panel alone, or those that share a process with it. Null for one account, and for callers
   * without `upstreams.read` on the platform.
   */
  processServices: string[] | null;
}

/** The overview without what the panel knows by itself. */
export type OverviewFigures = Omit<Overview, 'processServices'>;

/** `expiredHeld` is money of ended grants that open holds may still use. It is part of no balance. */
export type AccountBalance = Balance & { expiredHeld: string };

/** `gaps`: times in which the panel recorded nothing. */
export type OverviewTraffic = TrafficSums & { gaps: TrafficGap[] };

/** Counts and amounts of a `UsageRow` that is not grouped. */
export type UsageSums = Omit<UsageRow, 'start' | 'accountId' | 'projectId' | 'keyId' | 'model' | 'upstream' | 'ending'>;

export type OverviewWarning =
  | { kind: 'balance-low'; accountId: string; availablePicoUsd: string; lowBalancePicoUsd: string }
  | { kind: 'balance-empty'; accountId: string }
  | { kind: 'account-frozen'; accountId: string; statusReason: string | null }
  /** The plan ends within 7 days. */
  | { kind: 'plan-ends'; accountId: string; planExpiresAt: string; planBalancePicoUsd: string }
  /** At least 80 % of the limit is spent. */
  | { kind: 'budget-low'; accountId: string; budget: Budget }
  /** The limit is spent, but for less than 0.5 %, which hardly a request fits in; or the budget refuses requests (`refusing`). */
  | { kind: 'budget-empty'; accountId: string; budget: Budget }
  /** Soonest first. */
  | { kind: 'keys-end'; accountId: string; keys: EndingKey[] }
  /**
   * No route of the model is up on any replica, so its requests fail. Operators see where it leads, what the last call failed with and how long
   * ago; for others these are null.
   */
  | {
      kind: 'model-down';
      model: string;
      upstreams: string[] | null;
      detail: string | null;
      failedAgoMs: number | null;
      advice: string | null;
    }
  /** Platform only: a route of a model that other routes serve, down on `replicas` replicas. */
  | { kind: 'route-down'; model: string; upstream: string; replicas: number }
  /** Platform only: the last check of the ledger found violations. */
  | { kind: 'ledger-violations'; checkedAt: string; violations: number }
  /** A warning may be missing because this service did not answer. */
  | { kind: 'service-unavailable'; service: string };

/** An active key that ends within 7 days and was not replaced. */
export type EndingKey = Pick<KeyRow, 'keyId' | 'name' | 'lastFour'> & { expiresAt: string };

export type { EndedRequest, RequestAttempt };

/** `GET /requests/{requestId}/activity`: what happened to a request, also to a refused one. */
export interface ActivityReply {
  /** Null: nothing is recorded. */
  activity: EndedRequest | null;
}

export type TrafficStep = 'minute' | 'hour' | 'day';
export type TrafficGroup = 'account' | 'project' | 'key' | 'model';

/** `GET /projects/{projectId}`: a project, its month so far in UTC, and what belongs to it. */
export interface ProjectDetails {
  project: Project;
  today: UsageSums;
  month: UsageSums;
  /** This month by day. Days without requests are absent. */
  series: UsageRow[];
  /** This month, most expensive first, at most ten each. */
  byModel: UsageRow[];
  byKey: UsageRow[];
  /** Budgets of the project, then of its keys. */
  budgets: Budget[];
  /** Oldest first, revoked ones included, at most 1,000. */
  keys: KeyRow[];
  hasMoreKeys: boolean;
  /** The last ten of 7 days, running ones first, refused ones included. Null for callers without `requests.read`. */
  requests: ListedRequest[] | null;
  /** People with a role in the account or the project, newest first, at most 200. Null for callers without `members.read`. */
  members: Member[] | null;
}

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
  mean: number;
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
