import type { RouteFailure, RouteStatus, RouteStatusReply } from '#contracts/route-status.js';
import { renderTable } from '../render.js';

/** A route as one replica has it. */
interface Seen extends RouteStatus {
  replica: string;
}

/**
 * A line for each route, what all replicas say of it put together, in the order in which routes are tried; then what an operator
 * can do about those that are not up, and who waits. `perReplica`: a line for each route and replica.
 */
export function renderStatus(replies: readonly RouteStatusReply[], perReplica: boolean): string {
  const seen = replies.flatMap(({ replica, routes }) => routes.map((route) => ({ replica, ...route })));
  seen.sort(
    (one, other) => one.model.localeCompare(other.model) || one.priority - other.priority || one.upstream.localeCompare(other.upstream),
  );
  const routes = [...Map.groupBy(seen, ({ model, upstream, upstreamModel }) => `${model}\n${upstream}\n${upstreamModel}`).values()];
  const lines = [...troubles(routes, replies), ...waiting(replies), catalogLine(replies)];
  return [perReplica ? renderRows(seen.map((route) => [route])) : renderRows(routes), '', ...lines].join('\n');
}

function renderRows(rows: readonly (readonly Seen[])[]): string {
  return renderTable(
    rows.map((seen) => ({ ...(seen[0] as Seen), seen })),
    {
      MODEL: ({ model }) => model,
      UPSTREAM: ({ upstream }) => upstream,
      'MODEL THERE': ({ upstreamModel }) => upstreamModel,
      REPLICA: ({ replica, seen }) => (seen.length === 1 ? replica : `all ${seen.length}`),
      STATE: ({ seen }) => renderStates(seen),
      'IN FLIGHT': ({ seen, concurrencyMax }) => {
        const cap = concurrencyMax === null ? '' : `/${sum(seen, (route) => route.concurrencyMax ?? 0)}`;
        return `${sum(seen, ({ inFlight }) => inFlight)}${cap}`;
      },
      SOCKETS: ({ seen }) => `${sum(seen, (route) => route.upstreamInFlight)}/${sum(seen, (route) => route.upstreamConnectionsMax)}`,
      PRIORITY: ({ priority }) => priority,
      WEIGHT: ({ weight }) => weight,
      CALLS: ({ seen }) => sum(seen, ({ calls }) => calls),
      ERRORS: ({ seen }) => renderErrors(seen),
      'FIRST CONTENT': ({ seen }) => renderMs(mean(seen, ({ firstContentMs }) => firstContentMs)),
      'WHOLE CALL': ({ seen }) => renderMs(mean(seen, ({ durationMs }) => durationMs)),
      'TOKENS/S': ({ seen }) => round(mean(seen, ({ tokensPerSecond }) => tokensPerSecond)),
    },
    'no routes',
  );
}

/** What all say, or how many replicas say what. */
function renderStates(seen: readonly Seen[]): string {
  const states = [...Map.groupBy(seen, stateOf)].map(([state, those]) => {
    const longest = Math.max(...those.map(({ restMs }) => restMs));
    return { state, count: those.length, text: state === 'rests' ? `rests ${renderMs(longest)}` : state };
  });
  if (states.length === 1) return states[0]?.text ?? '';
  return states.map(({ count, text }) => `${count} ${text}`).join(', ');
}

/** It has rested; the next request that needs it shows what it is like, and nobody may need it for long. */
const DUE = 'due a probe';

function stateOf({ isWell, breaker, restMs }: RouteStatus): string {
  if (!isWell) return 'health check fails';
  if (breaker === 'closed') return 'up';
  if (restMs === 0) return DUE;
  return breaker === 'open' ? 'rests' : 'probing';
}

/**
 * Of each route that is not up everywhere, or on which nothing has ever worked: why, and what to do about it. Of each model without
 * any that is up or would be tried, or without any: what its clients get.
 */
function troubles(routes: readonly (readonly Seen[])[], replies: readonly RouteStatusReply[]): string[] {
  const lines = routes.flatMap((seen) => {
    for (const [trouble, hasIt] of TROUBLES) {
      const troubled = latestFirst(seen.filter(hasIt));
      if (troubled[0] !== undefined) return [renderTrouble(troubled[0], trouble, troubled.length, seen.length)];
    }
    return [];
  });
  const models = Map.groupBy(routes.flat(), ({ model }) => model);
  for (const [model, seen] of models) if (seen.every(isDown)) lines.push(`${model}: no route is up anywhere; its clients get 503, or 429`);
  for (const model of new Set(replies.flatMap(({ withoutRoute }) => withoutRoute ?? [])))
    lines.push(`${model}: its routes lead to disabled upstreams only; its clients get 503`);
  return lines.length === 0 ? [] : [...lines, ''];
}

/** The worst first. */
const TROUBLES: readonly [trouble: string, hasIt: (route: Seen) => boolean][] = [
  ['is not up', isDown],
  ['is due a probe by the next request that needs it', (route) => stateOf(route) === DUE],
  ['has answered no call well', isVain],
];

function isDown(route: Seen): boolean {
  const state = stateOf(route);
  return state !== 'up' && state !== DUE;
}

function latestFirst(seen: readonly Seen[]): Seen[] {
  return seen.toSorted((one, other) => (one.lastFailure?.agoMs ?? Infinity) - (other.lastFailure?.agoMs ?? Infinity));
}

/** Up, because too little was tried to say otherwise, or because it reads requests and rejects them: so it begins with a wrong entry. */
function isVain({ calls, errors, lastFailure }: Seen): boolean {
  const isClients = lastFailure?.code === 'context_length_exceeded' || lastFailure?.code === 'unsupported_content';
  return calls > 0 && !isClients && Object.values(errors).reduce((total, count) => total + count, 0) === calls;
}

function renderTrouble({ model, upstream, isWell, lastFailure }: Seen, trouble: string, troubled: number, replicas: number): string {
  const where = replicas === 1 ? '' : ` on ${troubled} of ${replicas} replicas`;
  const what = lastFailure === null ? '' : `: ${lastFailure.detail} (${lastFailure.kind}, ${renderMs(lastFailure.agoMs)} ago)`;
  const advice = isWell ? adviceOn(lastFailure) : 'Its health check fails: is it running, and is the path of its healthCheck right?';
  return `${model} on ${upstream} ${trouble}${where}${what}\n  ${advice} To ask it: tollgate upstreams test ${upstream}`;
}

function adviceOn(failure: RouteFailure | null): string {
  if (failure === null) return 'Another route to it found nobody there: is it running?';
  if (failure.code === 'model_capacity') return 'It has no room: give the route a concurrencyMax, or the model another route.';
  if (failure.isOperatorsFault && failure.kind === 'refused')
    return 'It has no such model, or keeps it from us: check the name of the model there, and what the key may do.';
  if (failure.isOperatorsFault && failure.kind === 'unreachable')
    return 'It cannot be called as its entry says: mend that (baseUrl, tls, allowPrivateNetwork), or the certificates it names.';
  return ADVICE[failure.kind] ?? 'What it sends is no good reply: see its own log.';
}

const ADVICE: Readonly<Record<string, string>> = {
  unreachable: 'No connection can be made: is it running, and are its baseUrl, tls and allowPrivateNetwork right?',
  stale: 'It closes connections that have served before, in place of an answer: does it, or what stands before it, restart?',
  unanswered: 'It takes connections and closes them without a word: see its own log, and whether https:// and tls in its entry are right.',
  denied: 'It does not serve us: check its key, as the inference-proxy has it, and the credit of its account.',
  refused: 'It answers with errors: see its own log.',
  rejected: 'It does not take what it is sent: it may need other capabilities in its entry.',
  timeout: 'It is silent for longer than its timeouts allow: it is overloaded or hangs, or they are too short for its prompts.',
};

function waiting(replies: readonly RouteStatusReply[]): string[] {
  return replies.flatMap(({ replica, waiting: models }) =>
    models.map(({ model, requests }) => `${requests} waiting for ${model} at ${replica}: its routes are full, or have just begun to rest`),
  );
}

function catalogLine(replies: readonly RouteStatusReply[]): string {
  const revisions = new Set(replies.map(({ catalogRevision }) => catalogRevision));
  const count = `${replies.length} ${replies.length === 1 ? 'replica' : 'replicas'}`;
  return `${count}, catalog revision ${[...revisions].map((revision) => revision ?? 'none').join(' and ')}`;
}

function renderErrors(seen: readonly Seen[]): string | null {
  const counts = new Map<string, number>();
  for (const { errors } of seen) for (const [kind, count] of Object.entries(errors)) counts.set(kind, (counts.get(kind) ?? 0) + count);
  const kinds = [...counts].sort(([, one], [, other]) => other - one);
  return kinds.length === 0 ? null : kinds.map(([kind, count]) => `${count} ${kind}`).join(', ');
}

function sum(seen: readonly Seen[], read: (route: Seen) => number): number {
  return seen.reduce((total, route) => total + read(route), 0);
}

/** Each replica counts as much as it has made calls. */
function mean(seen: readonly Seen[], read: (route: Seen) => number | null): number | null {
  const known = seen.filter((route) => read(route) !== null);
  const weight = sum(known, ({ calls }) => Math.max(1, calls));
  return weight === 0 ? null : sum(known, (route) => (read(route) ?? 0) * Math.max(1, route.calls)) / weight;
}

function round(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}

function renderMs(ms: number | null): string | null {
  if (ms === null) return null;
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
