import { setTimeout as delay } from 'node:timers/promises';
import { type HoldListReply, holdList } from '#contracts/billing/holds.js';
import { type RouteStatus, type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import type { Messaging } from '#messaging/messaging.js';
import type { CliCommand } from '../command.js';
import { renderDollars, renderTable } from '../render.js';
import { mean, renderMs, renderStates, sum } from './upstreams-status-report.js';

const INTERVAL_MS = 1_000;
const ANSWER_MS = 3_000;
/** Moves the cursor to the first line, and erases the rest of each line and of the screen: nothing flickers. */
const HOME = '\u001b[H';
const CLEAR_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

export const topCommands: readonly CliCommand[] = [
  {
    name: 'top',
    summary: 'Watch the traffic of each model and upstream until Ctrl-C; once if the output is not a terminal, or with --json',
    parameters: {},
    examples: ['top', 'top --json'],
    async run(_values, json, connect, write) {
      const messaging = await connect();
      let before = await takeSample(messaging);
      for (;;) {
        await delay(INTERVAL_MS);
        const now = await takeSample(messaging);
        if (json) return { text: JSON.stringify(measureTraffic(before, now), null, 2), failed: false };
        const text = renderTop(before, now);
        if (!process.stdout.isTTY) return { text, failed: false };
        write(`${HOME}${text.replaceAll('\n', `${CLEAR_LINE}\n`)}${CLEAR_LINE}\n${CLEAR_BELOW}`);
        before = now;
      }
    },
  },
];

async function takeSample(messaging: Messaging): Promise<Sample> {
  const [replies, holds] = await Promise.all([
    messaging.requestEvery(routeStatus, {}, { timeoutMs: ANSWER_MS }),
    messaging.request(holdList, {}),
  ]);
  return { at: performance.now(), replies, holds };
}

/** All replicas of the inference-proxy and the open holds at one moment. */
export interface Sample {
  /** Milliseconds of a monotonic clock. */
  at: number;
  replies: readonly RouteStatusReply[];
  /** The first page: the oldest. */
  holds: Pick<HoldListReply, 'holds' | 'nextCursor'>;
}

/** Counts in a second, of all replicas. */
interface Rates {
  callsPerSecond: number;
  failedPerSecond: number;
  promptTokensPerSecond: number;
  outputTokensPerSecond: number;
}

interface RouteTraffic extends Rates {
  model: string;
  upstream: string;
  upstreamModel: string;
  state: string;
  inFlight: number;
  firstContentMs: number | null;
  durationMs: number | null;
}

interface Traffic extends Rates {
  replicas: number;
  routes: RouteTraffic[];
  waiting: { model: string; requests: number }[];
  inFlight: number;
  holds: { count: number; amountPicoUsd: string; isComplete: boolean };
}

/** A route on one replica, with its counts since the sample before. */
interface Change {
  route: RouteStatus;
  counts: Record<keyof Rates, number>;
}

/** Compares two samples. A replica or route that the first does not have counts from the second on. */
export function measureTraffic(before: Sample, now: Sample): Traffic {
  const seconds = (now.at - before.at) / 1_000;
  const known = new Map(before.replies.flatMap(({ replica, routes }) => routes.map((route) => [routeKey(replica, route), route])));
  const changes = now.replies.flatMap(({ replica, routes }) =>
    routes.map((route): Change => ({ route, counts: countsSince(known.get(routeKey(replica, route)) ?? route, route) })),
  );
  const byRoute = Map.groupBy(changes, ({ route }) => routeKey('', route));
  const routes = [...byRoute.values()].map((seen) => routeTraffic(seen, seconds));
  routes.sort((one, other) => one.model.localeCompare(other.model) || one.upstream.localeCompare(other.upstream));
  const waiting = Map.groupBy(
    now.replies.flatMap((reply) => reply.waiting),
    ({ model }) => model,
  );
  const { holds, nextCursor } = now.holds;
  return {
    replicas: now.replies.length,
    ...computeRates(changes, seconds),
    routes,
    waiting: [...waiting].map(([model, lines]) => ({ model, requests: sum(lines, ({ requests }) => requests) })),
    inFlight: sum(changes, ({ route }) => route.inFlight),
    holds: {
      count: holds.length,
      amountPicoUsd: holds.reduce((total, { amountPicoUsd }) => total + BigInt(amountPicoUsd), 0n).toString(),
      isComplete: nextCursor === null,
    },
  };
}

/** Renders a line of totals, one for each route, and one for each model with waiting requests. */
export function renderTop(before: Sample, now: Sample): string {
  const traffic = measureTraffic(before, now);
  const { count, amountPicoUsd, isComplete } = traffic.holds;
  const totals = [
    `${renderRate(traffic.callsPerSecond)} calls/s`,
    `${renderRate(traffic.failedPerSecond)} failed/s`,
    `${renderRate(traffic.promptTokensPerSecond)} tokens/s in`,
    `${renderRate(traffic.outputTokensPerSecond)} tokens/s out`,
    `${traffic.inFlight} in flight`,
    `${isComplete ? '' : 'at least '}${renderDollars(amountPicoUsd)} on hold in ${count} requests`,
  ];
  const table = renderTable(traffic.routes, 'no routes', {
    MODEL: ({ model }) => model,
    UPSTREAM: ({ upstream }) => upstream,
    'MODEL THERE': ({ upstreamModel }) => upstreamModel,
    STATE: ({ state }) => state,
    'IN FLIGHT': ({ inFlight }) => inFlight,
    'CALLS/S': ({ callsPerSecond }) => callsPerSecond,
    'FAILED/S': ({ failedPerSecond }) => failedPerSecond,
    'TOKENS/S IN': ({ promptTokensPerSecond }) => promptTokensPerSecond,
    'TOKENS/S OUT': ({ outputTokensPerSecond }) => outputTokensPerSecond,
    'FIRST CONTENT': ({ firstContentMs }) => renderMs(firstContentMs),
    'WHOLE CALL': ({ durationMs }) => renderMs(durationMs),
  });
  const waiting = traffic.waiting.map(({ model, requests }) => `${requests} requests wait for ${model}: its routes are full or open`);
  const replicas = `${traffic.replicas} ${traffic.replicas === 1 ? 'replica' : 'replicas'} of the inference-proxy`;
  return [totals.join(', '), replicas, '', table, ...(waiting.length > 0 ? ['', ...waiting] : [])].join('\n');
}

function routeTraffic(seen: readonly Change[], seconds: number): RouteTraffic {
  const routes = seen.map(({ route }) => route);
  const { model = '', upstream = '', upstreamModel = '' } = routes[0] ?? {};
  return {
    model,
    upstream,
    upstreamModel,
    state: renderStates(routes),
    inFlight: sum(routes, ({ inFlight }) => inFlight),
    ...computeRates(seen, seconds),
    firstContentMs: mean(routes, ({ firstContentMs }) => firstContentMs),
    durationMs: mean(routes, ({ durationMs }) => durationMs),
  };
}

function countsSince(before: RouteStatus, now: RouteStatus): Change['counts'] {
  return {
    callsPerSecond: now.calls - before.calls,
    failedPerSecond: countFailures(now) - countFailures(before),
    promptTokensPerSecond: (now.tokens?.prompt ?? 0) - (before.tokens?.prompt ?? 0),
    outputTokensPerSecond: (now.tokens?.output ?? 0) - (before.tokens?.output ?? 0),
  };
}

function computeRates(changes: readonly Change[], seconds: number): Rates {
  const rate = (name: keyof Rates): number => Math.round((sum(changes, ({ counts }) => counts[name]) / seconds) * 10) / 10;
  return {
    callsPerSecond: rate('callsPerSecond'),
    failedPerSecond: rate('failedPerSecond'),
    promptTokensPerSecond: rate('promptTokensPerSecond'),
    outputTokensPerSecond: rate('outputTokensPerSecond'),
  };
}

function countFailures({ errors }: RouteStatus): number {
  return Object.values(errors).reduce((total, count) => total + count, 0);
}

function routeKey(replica: string, { model, upstream, upstreamModel }: RouteStatus): string {
  return [replica, model, upstream, upstreamModel].join('\n');
}

function renderRate(rate: number): string {
  return rate.toLocaleString('en');
}
