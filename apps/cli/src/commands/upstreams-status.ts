import { setTimeout as delay } from 'node:timers/promises';
import { type RouteStatus, type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { flag, optional, text } from '../parameters.js';
import { renderStatus } from './upstreams-status-report.js';

const WATCH_MS = 2_000;
const ANSWER_MS = 3_000;
const CLEAR = '\u001b[H\u001b[2J';

const PARAMETERS = {
  model: optional(text(256, 'id'), 'only the routes of this model'),
  upstream: optional(text(64, 'id'), 'only the routes to this upstream'),
  replicas: flag('a line for each route and replica, instead of one for each route'),
  watch: flag('ask again every two seconds, until Ctrl-C; with --json, one document a line'),
} satisfies Parameters;

/** Asks all replicas at once, unlike all other commands: what each of them knows is its own. */
export const upstreamStatusCommands: readonly CliCommand[] = [
  {
    name: 'upstreams status',
    summary: 'Show how the routes to the upstreams are doing, on every replica of the inference-proxy',
    parameters: PARAMETERS,
    examples: ['upstreams status --watch', 'upstreams status --model sim-fast --replicas', 'upstreams status --json'],
    async run(values, json, connect, write) {
      const filter = values as unknown as Values<typeof PARAMETERS>;
      const messaging = await connect();
      const ask = async (): Promise<RouteStatusReply[]> =>
        chosen(await messaging.requestEvery(routeStatus, {}, { timeoutMs: ANSWER_MS }), filter);
      for (; filter.watch; await delay(WATCH_MS)) {
        const replies = await ask();
        write(json ? `${JSON.stringify(replies)}\n` : `${CLEAR}${renderStatus(replies, filter.replicas ?? false)}\n`);
      }
      const replies = await ask();
      return { text: json ? JSON.stringify(replies, null, 2) : renderStatus(replies, filter.replicas ?? false), failed: false };
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
      // Of an upstream there is nothing to say here: these have none.
      withoutRoute: upstream === undefined ? reply.withoutRoute?.filter((id) => model === undefined || id === model) : undefined,
    }))
    .sort((one, other) => one.replica.localeCompare(other.replica));
}
