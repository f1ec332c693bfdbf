import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { planDemoTraffic } from './demo-requests.mjs';
import { readPrivate, writePrivate } from './secrets.mjs';
import { createDemoProjects } from './seed.mjs';
import { seconds as rendered } from './status.mjs';

const TRAFFIC_SECONDS = 75;
const PROGRESS_MS = 5_000;
/** Bound of one request, so that the traffic ends even if a reply does not. */
const REQUEST_MS = 30_000;
const ENDS = {
  '/v1/chat/completions': 'data: [DONE]',
  '/v1/responses': '"type":"response.completed"',
  '/v1/messages': '"type":"message_stop"',
};

/**
 * Sends the demo traffic in the account of a running stack, from projects that its first run creates. Never throws: a failure is one
 * line, and the stack runs on. demo-traffic.d.mts documents the options and the result.
 */
export async function runDemoTraffic({ dataDir, stack, say, signal, seconds = TRAFFIC_SECONDS }) {
  try {
    const keys = await demoKeys(dataDir, stack, say);
    return await sendTraffic({ gatewayUrl: stack.gatewayUrl, keys, say, signal, seconds });
  } catch (error) {
    if (!signal.aborted) say('demo traffic', `stopped: ${error.message}`);
    return undefined;
  }
}

/** Keys of the projects that the first demo traffic of this account has created. */
async function demoKeys(dataDir, { accountId, natsUrl, natsPasswords }, say) {
  const file = join(dataDir, 'demo-traffic.json');
  const kept = readPrivate(file);
  if (kept.accountId === accountId) return kept.keys;
  say('demo traffic', 'creates its projects and keys');
  const keys = await createDemoProjects({ natsUrl, natsPassword: natsPasswords.cli, accountId });
  writePrivate(file, { accountId, keys });
  return keys;
}

/** Resolves when every request has ended, at most half a minute after the last one has started. */
async function sendTraffic({ gatewayUrl, keys, say, signal, seconds }) {
  const plan = planDemoTraffic(seconds);
  const started = performance.now();
  const tally = { answered: 0, refused: 0, failed: 0, left: 0 };
  const running = new Set();
  const progress = setInterval(() => say('demo traffic', `${sum(tally)} of ${plan.length} requests, ${running.size} running`), PROGRESS_MS);
  try {
    for (const request of plan) {
      await delay(Math.max(0, started + request.atMs - performance.now()), undefined, { signal });
      const ended = send(request, { gatewayUrl, apiKey: keys[request.key], signal }).then((outcome) => {
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

async function send({ path, body, leaveAfterMs }, { gatewayUrl, apiKey, signal }) {
  const leave = leaveAfterMs === undefined ? [] : [AbortSignal.timeout(leaveAfterMs)];
  const abort = AbortSignal.any([AbortSignal.timeout(REQUEST_MS), ...leave, signal]);
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  try {
    const response = await fetch(`${gatewayUrl}${path}`, {
      method: body ? 'POST' : 'GET',
      headers,
      body: JSON.stringify(body),
      signal: abort,
    });
    const text = await response.text();
    if (!response.ok) return response.status < 500 ? 'refused' : 'failed';
    return !body?.stream || text.includes(ENDS[path]) ? 'answered' : 'failed';
  } catch {
    return leave.some(({ aborted }) => aborted) || signal.aborted ? 'left' : 'failed';
  }
}

function sum(tally) {
  return Object.values(tally).reduce((total, count) => total + count, 0);
}
