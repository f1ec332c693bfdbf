import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type DemoKey, type PlannedRequest, planDemoTraffic } from './demo-requests.ts';
import { readPrivate, writePrivate } from './secrets.ts';
import { createDemoProjects } from './seed.ts';
import type { StackFacts } from './stack.ts';
import { seconds as rendered, type Status } from './status.mjs';

const TRAFFIC_SECONDS = 75;
const PROGRESS_MS = 5_000;
/** Bound of one request, so that the traffic ends even if a reply does not. */
const REQUEST_MS = 30_000;
const ENDS: Record<string, string> = {
  '/v1/chat/completions': 'data: [DONE]',
  '/v1/responses': '"type":"response.completed"',
  '/v1/messages': '"type":"message_stop"',
};

/** Requests by outcome. */
export interface DemoTally {
  answered: number;
  /** 4xx. */
  refused: number;
  /** 5xx, or a stream without its end. */
  failed: number;
  /** The client has disconnected. */
  left: number;
}

type DemoStack = Pick<StackFacts, 'gatewayUrl' | 'accountId' | 'natsUrl' | 'natsPasswords'>;

/**
 * Sends the demo traffic in the account of a running stack, from projects that its first run creates. Never throws: a failure is one
 * line, and the stack runs on.
 */
export async function runDemoTraffic({
  dataDir,
  stack,
  say,
  signal,
  seconds = TRAFFIC_SECONDS,
}: {
  /** Folder that keeps the keys for the next run. */
  dataDir: string;
  stack: DemoStack;
  say: Status['say'];
  /** Ends the traffic at once. */
  signal: AbortSignal;
  seconds?: number;
}): Promise<DemoTally | undefined> {
  try {
    const keys = await demoKeys(dataDir, stack, say);
    return await sendTraffic({ gatewayUrl: stack.gatewayUrl, keys, say, signal, seconds });
  } catch (error) {
    if (!signal.aborted) say('demo traffic', `stopped: ${(error as Error).message}`);
    return undefined;
  }
}

/** Keys of the projects that the first demo traffic of this account has created. */
async function demoKeys(
  dataDir: string,
  { accountId, natsUrl, natsPasswords }: DemoStack,
  say: Status['say'],
): Promise<Record<DemoKey, string>> {
  const file = join(dataDir, 'demo-traffic.json');
  const kept = readPrivate<{ accountId: string; keys: Record<DemoKey, string> }>(file);
  if (kept.accountId === accountId && kept.keys) return kept.keys;
  say('demo traffic', 'creates its projects and keys');
  const keys = await createDemoProjects({ natsUrl, natsPassword: natsPasswords.cli, accountId });
  writePrivate(file, { accountId, keys });
  return keys;
}

/** Resolves when every request has ended, at most half a minute after the last one has started. */
async function sendTraffic({
  gatewayUrl,
  keys,
  say,
  signal,
  seconds,
}: {
  gatewayUrl: string;
  keys: Record<DemoKey, string>;
  say: Status['say'];
  signal: AbortSignal;
  seconds: number;
}): Promise<DemoTally> {
  const plan = planDemoTraffic(seconds);
  const started = performance.now();
  const tally: DemoTally = { answered: 0, refused: 0, failed: 0, left: 0 };
  const running = new Set<Promise<void>>();
  const progress = setInterval(() => say('demo traffic', `${sum(tally)} of ${plan.length} requests, ${running.size} running`), PROGRESS_MS);
  try {
    for (const request of plan) {
      await delay(Math.max(0, started + request.atMs - performance.now()), undefined, { signal });
      const ended: Promise<void> = send(request, { gatewayUrl, apiKey: keys[request.key], signal }).then((outcome) => {
        tally[outcome] += 1;
        running.delete(ended);
      });
      running.add(ended);
    }
  } finally {
    await Promise.all(running);
    clearInterval(progress);
  }
  const counts = Object.entries(tally).map(([outcome, count]) => `${count} ${outcome}`);
  say('demo traffic', `${sum(tally)} requests in ${rendered(performance.now() - started)}: ${counts.join(', ')}`);
  return tally;
}

async function send(
  { path, body, leaveAfterMs }: PlannedRequest,
  { gatewayUrl, apiKey, signal }: { gatewayUrl: string; apiKey: string; signal: AbortSignal },
): Promise<keyof DemoTally> {
  const leave = leaveAfterMs === undefined ? [] : [AbortSignal.timeout(leaveAfterMs)];
  const abort = AbortSignal.any([AbortSignal.timeout(REQUEST_MS), ...leave, signal]);
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  try {
    const response = await fetch(`${gatewayUrl}${path}`, {
      method: body ? 'POST' : 'GET',
      headers,
      ...(body && { body: JSON.stringify(body) }),
      signal: abort,
    });
    const text = await response.text();
    if (!response.ok) return response.status < 500 ? 'refused' : 'failed';
    return !body?.stream || text.includes(ENDS[path] ?? '') ? 'answered' : 'failed';
  } catch {
    return leave.some(({ aborted }) => aborted) || signal.aborted ? 'left' : 'failed';
  }
}

function sum(tally: DemoTally): number {
  return Object.values(tally).reduce((total, count) => total + count, 0);
}
