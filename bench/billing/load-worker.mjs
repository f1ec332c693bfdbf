/** One job of the billing benchmark, in a process of its own: `clients` loops of reserve and settle over the first `count` accounts. */
import { randomUUIDv7 } from 'node:crypto';
import { connectPg } from '#database/pg-connection.js';
import { connectMessaging } from '#messaging/connect-messaging.js';
import { createLogger } from '#observability/logger.js';
import { LANE_SETTINGS } from '../../dist/apps/billing/src/batch/apply-batch.js';
import { HoldLanes } from '../../dist/apps/billing/src/batch/hold-lanes.js';
import { BillingClient } from '../../dist/apps/gateway/src/clients/billing.js';
import { BillingReplicas } from '../../dist/apps/gateway/src/clients/billing-replicas.js';

const WARM_UP_MS = 1_500;
const logger = createLogger('bench', 'warn');

process.on('message', async (/** @type {any} */ job) => {
  const billing = job.path === 'lanes' ? makeLanes(job) : await connectClient(job);
  const latencies = [];
  let pairs = 0;
  /** Also those of the warm-up. */
  let done = 0;
  let errors = 0;
  let firstError;
  const begin = performance.now() + WARM_UP_MS;
  const end = begin + job.seconds * 1_000;
  const accounts = job.accounts.slice(0, job.count);

  const loop = async (/** @type {number} */ number) => {
    for (let turn = number; performance.now() < end; turn += job.clients) {
      const account = accounts[turn % accounts.length];
      const holdId = randomUUIDv7();
      const started = performance.now();
      try {
        const outcome = await billing.reserve({ ...RESERVE, ...account, holdId, requestId: `bench-${holdId}`, ...makeAttribution(job) });
        if (outcome.status !== 'held') throw new Error(JSON.stringify(outcome));
        const reserved = performance.now();
        await billing.settle({ holdId, accountId: account.accountId, reason: 'completed', usage: USAGE, upstream: 'bench' });
        const now = performance.now();
        done++;
        if (now >= begin && now <= end) pairs++;
        if (started >= begin) latencies.push(reserved - started);
      } catch (error) {
        errors++;
        firstError ??= String(error);
      }
    }
  };
  await Promise.all(Array.from({ length: job.clients }, (_, number) => loop(number)));
  latencies.sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => latencies[Math.floor(latencies.length * share)] ?? 0;
  process.send?.({ pairs: done, pairsPerSecond: pairs / job.seconds, p50: at(0.5), p99: at(0.99), errors, firstError });
});

/**
 * A random user and tag of those that the job has, or a random session, or one of the request's own.
 *
 * @param {{ users?: number, tags?: number, sessions?: number, newSessions?: boolean }} job
 */
function makeAttribution({ users, tags = 1, sessions, newSessions }) {
  if (newSessions) return { attribution: { session: `run-${randomUUIDv7()}` } };
  if (sessions !== undefined) return { attribution: { session: `run-${Math.floor(Math.random() * sessions)}`.padEnd(36, 'x') } };
  if (users === undefined) return {};
  const user = `user-${Math.floor(Math.random() * users)}`.padEnd(24, 'x');
  const tag = `tag-${Math.floor(Math.random() * tags)}`;
  return { attribution: { user, 'tag:team': tag, client: 'OpenAI/Python', session: `session-${user}` } };
}

const RESERVE = {
  model: 'bench',
  amountPicoUsd: '1000000000',
  price: { version: 1, inputPicoUsd: '150000', cachedInputPicoUsd: '15000', outputPicoUsd: '600000' },
};
const USAGE = {
  promptTokens: 100,
  cachedTokens: 20,
  outputTokens: 200,
  reasoningTokens: 0,
  promptSource: 'reported',
  outputSource: 'reported',
};

function makeLanes(/** @type {any} */ { databaseUrl, batchMax }) {
  return new HoldLanes({
    lanes: 4,
    times: { leaseMs: 60_000, reaperGraceMs: 30_000 },
    connect: () => connectPg({ url: databaseUrl, applicationName: 'tollgate-bench', settings: LANE_SETTINGS }),
    batchMax,
    queueMax: 4_096,
    accountQueueMax: 4_096,
    deadlineMs: 10_000,
    logger,
  });
}

/** The client of the gateway, which sends all operations of one turn of the event loop in one message. */
async function connectClient(/** @type {any} */ { natsUrl, password }) {
  const messaging = await connectMessaging({ url: natsUrl, user: 'gateway', password, service: 'gateway', logger });
  const replicas = new BillingReplicas(messaging);
  replicas.onModuleInit();
  const client = new BillingClient(messaging, replicas, 10_000);
  return {
    reserve: (/** @type {any} */ request) => client.reserve(request, () => undefined),
    settle: (/** @type {any} */ request) => client.settle(request),
  };
}
