import type { BilledRequest } from '../../src/shapes/requests.js';
import type { EndedRequest, Percentiles, TrafficOutcome, TrafficReply, TrafficStep, TrafficSums } from '../../src/shapes/traffic.js';
import { REQUESTS } from './demo-data.js';

const STEPS: Record<TrafficStep, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** The course of an invented request. Each failure, and each 40th request, has a failed call before the last one. */
export function activityOf({ settlement, upstream, requestId, reservedAt, ...request }: BilledRequest, at = 0): EndedRequest {
  const endedMs = settlement ? Date.parse(settlement.settledAt) - Date.parse(reservedAt) : 2_000;
  const isFailed = settlement?.reason === 'failed';
  const firstContentMs = Math.round(Math.min(endedMs * 0.6, 140 + (settlement?.usage.promptTokens ?? 0) / 20));
  const call = { upstream: upstream ?? '', startMs: 5, firstByteMs: 60 };
  const isFailover = isFailed || at % 40 === 0;
  return {
    requestId,
    receivedAt: reservedAt,
    accountId: request.accountId,
    projectId: request.projectId,
    keyId: request.keyId,
    protocol: 'chat',
    model: request.model,
    stream: true,
    status: isFailed ? 502 : 200,
    ...(isFailed && { code: 'upstream_error' }),
    outcome: isFailed ? 'failed' : settlement?.reason === 'client-disconnected' ? 'client-disconnected' : 'completed',
    heldMs: 4,
    ...(!isFailed && { firstContentMs, lastContentMs: Math.round(endedMs) - 6 }),
    endedMs: Math.round(endedMs),
    holdId: request.holdId,
    attempts: [
      ...(isFailover ? [{ ...call, upstream: 'hosted-eu', endMs: 64, failure: 'refused' }] : []),
      { ...call, startMs: isFailover ? 66 : 5, endMs: Math.round(endedMs) - 8, ...(isFailed && { failure: 'broken' }) },
    ],
  };
}

/** Counts of the invented requests, as the panel's rollups give them. Each 29th is a refusal, which has no request of its own. */
export function trafficOf(options: {
  account: string;
  from: number;
  to: number;
  step?: TrafficStep;
  only?: (request: BilledRequest) => boolean;
}): TrafficReply {
  const { account, from, to, step, only } = options;
  const ended = REQUESTS.filter(
    (request) => (account === 'all' || request.accountId === account) && (!only || only(request)) && Date.parse(request.reservedAt) >= from,
  ).map(activityOf);
  const startOf = (request: EndedRequest): number => {
    const stepMs = STEPS[step ?? 'hour'];
    return Math.floor((Date.parse(request.receivedAt) + request.endedMs) / stepMs) * stepMs;
  };
  const groups = step ? [...Map.groupBy(ended, startOf)].sort(([one], [other]) => one - other) : [];
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    total: sumsOf(ended),
    rows: groups.map(([start, requests]) => ({ start: new Date(start).toISOString(), ...sumsOf(requests) })),
    gaps: [],
  };
}

function sumsOf(requests: EndedRequest[]): TrafficSums {
  const completed = requests.filter(({ outcome }) => outcome === 'completed');
  const refused = Math.floor(requests.length / 29);
  const counted = Map.groupBy(requests, ({ status, code, outcome }) =>
    JSON.stringify([status, code ?? (outcome === 'client-disconnected' ? 'client_disconnected' : null)]),
  );
  const outcomes: TrafficOutcome[] = [...counted].map(([name, same]) => {
    const [status, code] = JSON.parse(name) as [number, string | null];
    return { status, code, requests: same.length };
  });
  if (refused > 0) outcomes.push({ status: 429, code: 'rate_limit_exceeded', requests: refused });
  return {
    requests: requests.length + refused,
    outcomes: outcomes.sort((one, other) => other.requests - one.requests),
    firstContentMs: percentilesOf(completed.map(({ firstContentMs = 0 }) => firstContentMs)),
    durationMs: percentilesOf(completed.map(({ endedMs }) => endedMs)),
  };
}

function percentilesOf(values: number[]): Percentiles | null {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  return sorted.length > 0 ? { p50: at(0.5), p95: at(0.95), p99: at(0.99) } : null;
}
