import { setTimeout as delay } from 'node:timers/promises';
import { type RouteStatus, type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { flag, optional, text } from '../parameters.js';
import { renderTable } from '../render.js';

const WATCH_MS = 2_000;
const ANSWER_MS = 3_000;
const CLEAR = '\u001b[H\u001b[2J';

const PARAMETERS = {
  model: optional(text(256, 'id'), 'only the routes of this model'),
  upstream: optional(text(64, 'id'), 'only the routes to this upstream'),
  watch: flag('ask again every two seconds, until Ctrl-C; with --json, one document a line'),
} satisfies Parameters;

/** Asks all replicas at once, unlike all other commands: what each of them knows is its own. */
export const upstreamStatusCommands: readonly CliCommand[] = [
  {
    name: 'upstreams status',
    summary: 'Show how the routes to the upstreams are doing, on every replica of the inference-proxy',
    parameters: PARAMETERS,
    examples: ['upstreams status', 'upstreams status --model sim-fast --watch', 'upstreams status --json'],
    async run(values, json, connect, write) {
      const filter = values as unknown as Values<typeof PARAMETERS>;
      const messaging = await connect();
      const ask = async (): Promise<RouteStatusReply[]> =>
        chosen(await messaging.requestEvery(routeStatus, {}, { timeoutMs: ANSWER_MS }), filter);
      for (; filter.watch; await delay(WATCH_MS)) {
        const replies = await ask();
        write(json ? `${JSON.stringify(replies)}\n` : `${CLEAR}${renderStatus(replies)}\n`);
      }
      const replies = await ask();
      return { text: json ? JSON.stringify(replies, null, 2) : renderStatus(replies), failed: false };
    },
  },
];

function chosen(replies: readonly RouteStatusReply[], { model, upstream }: Values<typeof PARAMETERS>): RouteStatusReply[] {
  const isAsked = (route: RouteStatus): boolean =>
    (model === undefined || route.model === model) && (upstream === undefined || route.upstream === upstream);
  return replies
    .map((reply) => ({
      ...reply,
      routes: reply.routes.filter(isAsked),
      waiting: reply.waiting.filter((line) => model === undefined || line.model === model),
    }))
    .sort((one, other) => one.replica.localeCompare(other.replica));
}

/** A line a route and replica, the routes of a model together, in the order in which they are tried. */
function renderStatus(replies: readonly RouteStatusReply[]): string {
  const rows = replies.flatMap(({ replica, routes }) => routes.map((route) => ({ replica, ...route })));
  rows.sort(
    (one, other) => one.model.localeCompare(other.model) || one.priority - other.priority || one.upstream.localeCompare(other.upstream),
  );
  const table = renderTable(
    rows,
    {
      MODEL: (row) => row.model,
      UPSTREAM: (row) => row.upstream,
      REPLICA: (row) => row.replica,
      STATE: renderState,
      'IN FLIGHT': (row) => `${row.inFlight}${row.concurrencyMax === null ? '' : `/${row.concurrencyMax}`}`,
      SOCKETS: (row) => `${row.upstreamInFlight}/${row.upstreamConnectionsMax}`,
      PRIORITY: (row) => row.priority,
      WEIGHT: (row) => row.weight,
      CALLS: (row) => row.calls,
      ERRORS: (row) => renderErrors(row.errors),
      'FIRST CONTENT': (row) => renderMs(row.firstContentMs),
      'WHOLE CALL': (row) => renderMs(row.durationMs),
      'TOKENS/S': (row) => (row.tokensPerSecond === null ? null : Math.round(row.tokensPerSecond)),
    },
    'no routes',
  );
  const lines = replies.flatMap(({ replica, waiting }) =>
    waiting.map(({ model, requests }) => `${requests} waiting for ${model} at ${replica}: all of its routes are full`),
  );
  const revisions = new Set(replies.map(({ catalogRevision }) => catalogRevision));
  const catalog = `${replies.length} ${replies.length === 1 ? 'replica' : 'replicas'}, catalog revision ${[...revisions].map((revision) => revision ?? 'none').join(' and ')}`;
  return [table, '', ...lines, catalog].join('\n');
}

function renderState({ isWell, breaker, restMs }: RouteStatus): string {
  if (!isWell) return 'health check fails';
  if (breaker === 'closed') return 'up';
  if (restMs === 0) return 'waits for a probe';
  return breaker === 'open' ? `rests ${renderMs(restMs)}` : 'probing';
}

function renderErrors(errors: Record<string, number>): string | null {
  const kinds = Object.entries(errors).sort(([, one], [, other]) => other - one);
  return kinds.length === 0 ? null : kinds.map(([kind, count]) => `${count} ${kind}`).join(', ');
}

function renderMs(ms: number | null): string | null {
  if (ms === null) return null;
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
