import { setTimeout as delay } from 'node:timers/promises';
import { type RouteStatus, type RouteStatusReply, routeStatus } from '#contracts/route-status.js';
import { ServiceError } from '#contracts/service-error.js';
import type { CliCommand, Parameters, Values } from '../command.js';
import { flag, optional, text } from '../parameters.js';
import { renderStatus } from './upstreams-status-report.js';

const WATCH_MS = 2_000;
const ANSWER_MS = 3_000;
const CLEAR = '\u001b[H\u001b[2J';

const PARAMETERS = {
  model: optional(text(256, 'id'), 'only the routes of this model'),
  upstream: optional(text(64, 'id'), 'only the routes to this upstream'),
  replicas: flag('one line for each route and replica, instead of one for each route'),
  watch: flag('refresh every two seconds until Ctrl-C; with --json, one document a line'),
} satisfies Parameters;

/** Unlike all other commands, it asks every replica: each has routing state of its own. */
export const upstreamStatusCommands: readonly CliCommand[] = [
  {
    name: 'upstreams status',
    summary: 'Show the state of the routes to upstreams on every replica of the inference-proxy',
    parameters: PARAMETERS,
    examples: ['upstreams status --watch', 'upstreams status --model sim-fast --replicas', 'upstreams status --json'],
    async run(values, json, connect, write) {
      const filter = values as unknown as Values<typeof PARAMETERS>;
      const messaging = await connect();
      const ask = async (): Promise<RouteStatusReply[]> => messaging.requestEvery(routeStatus, {}, { timeoutMs: ANSWER_MS });
      const first = await ask();
      refuseUnknown(first, filter);
      let replies = chosen(first, filter);
      for (; filter.watch; replies = chosen(await ask(), filter)) {
        write(json ? `${JSON.stringify(replies)}\n` : `${CLEAR}${renderStatus(replies, filter.replicas ?? false)}\n`);
        await delay(WATCH_MS);
      }
      return { text: json ? JSON.stringify(replies, null, 2) : renderStatus(replies, filter.replicas ?? false), failed: false };
    },
  },
];

/** A mistyped id must not look like one without trouble. Replicas without a catalog know no ids. */
function refuseUnknown(replies: readonly RouteStatusReply[], { model, upstream }: Values<typeof PARAMETERS>): void {
  if (replies.every(({ catalogRevision }) => catalogRevision === null)) return;
  const routes = replies.flatMap((reply) => reply.routes);
  const isIdle = replies.some(({ withoutRoute }) => model !== undefined && withoutRoute?.includes(model));
  if (model !== undefined && !isIdle && !routes.some((route) => route.model === model)) {
    throw new ServiceError('not_found', `There is no model ${model}, or it is disabled. See: tollgate models list`);
  }
  if (upstream !== undefined && !routes.some((route) => route.upstream === upstream)) {
    throw new ServiceError('not_found', `No model is routed to an upstream ${upstream}, or it is disabled. See: tollgate upstreams status`);
  }
  if (model !== undefined && upstream !== undefined && !routes.some((route) => route.model === model && route.upstream === upstream)) {
    throw new ServiceError('not_found', `The model ${model} has no route to the upstream ${upstream}.`);
  }
}

function chosen(replies: readonly RouteStatusReply[], { model, upstream }: Values<typeof PARAMETERS>): RouteStatusReply[] {
  const isAsked = (route: RouteStatus): boolean =>
    (model === undefined || route.model === model) && (upstream === undefined || route.upstream === upstream);
  return replies
    .map((reply) => ({
      ...reply,
      routes: reply.routes.filter(isAsked),
      waiting: reply.waiting.filter((line) => model === undefined || line.model === model),
      // These models have no upstream to filter by.
      withoutRoute: upstream === undefined ? reply.withoutRoute?.filter((id) => model === undefined || id === model) : undefined,
    }))
    .sort((one, other) => one.replica.localeCompare(other.replica));
}
