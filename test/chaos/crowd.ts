import { setTimeout as delay } from 'node:timers/promises';
import type { Story } from './chaos-client.js';
import { tell } from './chaos-client.js';
import { CLIENT_FORMATS, type FormatName } from './client-format.js';
import type { ManyReplicas } from './many-replicas.js';

const CLIENTS = 500;
/** Pause of a client after a request that did not complete. */
const REFUSED_PAUSE_MS = 1_000;
/** Time from the restart of a replica to the next kill. */
const KILL_EVERY_MS = 2_000;
/** From one victim to the next among the names of the replicas: has no factor in common with their number, so that each has its turn. */
const NEXT_VICTIM = 7;
const FORMATS = Object.keys(CLIENT_FORMATS) as FormatName[];

/** A short request in one of the formats, plain or streamed, of one of 20 users and 4 teams. */
export function crowdRequest(system: ManyReplicas, key: Story['key'], number: number): Story {
  return {
    name: `crowd ${number}`,
    key,
    gatewayUrl: system.gatewayUrl(number),
    format: FORMATS[number % FORMATS.length] ?? 'chat',
    ask: {
      model: 'sim-fast',
      text: 'Hello [[sim tokens=10]]',
      stream: number % 2 === 0,
      outputTokensMax: 20,
      withTool: false,
      user: `user-${number % 20}`,
      tags: `team=team-${number % 4}`,
      session: `run-${number % 10}`,
    },
    outputTokens: 10,
    leaveMs: undefined,
    beganAt: 0,
    endedAt: 0,
    requestId: undefined,
    outcome: { kind: 'broken' },
    bytesSeen: 0,
  };
}

/**
 * 500 clients that send one request after another for `forMs`, to the gateways in turn, while replicas are
 * killed.
 */
export async function crowd(system: ManyReplicas, key: Story['key'], forMs: number): Promise<Story[]> {
  const until = performance.now() + forMs;
  const stories: Story[] = [];
  const client = async (first: number): Promise<void> => {
    for (let number = first; performance.now() < until; number += CLIENTS + 1) {
      const story = crowdRequest(system, key, number);
      stories.push(story);
      await tell(story);
      if (story.outcome.kind !== 'completed') await delay(REFUSED_PAUSE_MS);
    }
  };
  await underKills(system, Promise.all(Array.from({ length: CLIENTS }, (_, first) => client(first))));
  return stories;
}

/**
 * Kills one replica after another until the work has ended: all of a system with one process for each service, and each half of a system with
 * two replicas of all. The next one is killed two seconds after the last is back: a busy machine would else have no billing service for minutes.
 */
export async function underKills<Result>(system: ManyReplicas, work: Promise<Result>): Promise<Result> {
  let isOver = false;
  const ended = work.finally(() => {
    isOver = true;
  });
  const kills = async (): Promise<number> => {
    let count = 0;
    for (; !isOver; count++) {
      await system.kill(system.names[(count * NEXT_VICTIM) % system.names.length] ?? '');
      await delay(KILL_EVERY_MS);
    }
    return count;
  };
  const [result, count] = await Promise.all([ended, kills()]);
  process.stderr.write(`   ${count} kills\n`);
  return result;
}

/** A request in each format, of `user-0` and `team-0`. */
export function makeUserRequests(system: ManyReplicas, key: Story['key']): Story[] {
  return FORMATS.map((format, index) => ({ ...crowdRequest(system, key, 20 * index), format }));
}
