import { setTimeout as delay } from 'node:timers/promises';
import type { Tenant } from '#testing/tenant.js';
import { anyCrawl } from '../simulation/crawl.js';
import { Random } from '../simulation/random.js';
import { type Story, tell } from './chaos-client.js';
import { growChildTree } from './child-tree.js';
import type { Crawls } from './crawls.js';
import { crowdRequest } from './crowd.js';
import type { ManyReplicas } from './many-replicas.js';
import { askQuote } from './own-limits.js';
import type { PriceChanges } from './price-changes.js';

const SESSIONS = 10;
/** The most that each session lets itself cost. */
export const SESSION_USD = '0.0006';
const CLIENTS = 100;
const REQUESTS = 12;
const CRAWLERS = 20;
const CRAWLS = 15;
/** Pause of a crawler after a refusal: the service may have fewer holds open then. */
const REFUSED_PAUSE_MS = 500;
/** Shortest lease that a service may ask for. */
const LEASE_MS = 5_000;
const QUOTED = 100;
const QUOTED_AT_ONCE = 10;
const QUOTED_PAUSE_MS = 1_500;
const PRICE_CHANGES = 3;
const SERVICE_KILLS = 3;
/** Time between two changes of prices, and between two kills of the service. */
const PAUSE_MS = 5_000;

interface Parties {
  system: ManyReplicas;
  tenant: Tenant;
  crawls: Crawls;
  prices: PriceChanges;
}

/** Requests with a quote at the prices of now. Some are sent only after these have changed. */
export async function quoteRequests({ system, tenant }: Parties): Promise<Story[]> {
  const stories = Array.from({ length: QUOTED }, (_, number) => crowdRequest(system, tenant, number));
  for (const story of stories) {
    Object.assign(story.ask, { session: undefined });
    story.quote = await askQuote(story);
  }
  return stories;
}

/** One request of each session, which names the most that it may cost before the others do. */
export async function beginSessions({ system, tenant }: Parties): Promise<Story[]> {
  const stories = Array.from({ length: SESSIONS }, (_, number) => sessionRequest(system, tenant, number));
  for (const story of stories) await tell(story);
  return stories;
}

/** All at once on one account: sessions, child keys, quoted requests, and a service that a key and child keys pay, while prices change. */
export async function attackTogether(parties: Parties, quoted: readonly Story[]): Promise<Story[]> {
  const { system, tenant, crawls, prices } = parties;
  const random = new Random(1);
  const stories: Story[] = [...quoted];
  const crawl = (payer: { keyId: string } | { apiKey: string }, number: number) => {
    // Half of them are of a session: when these have spent what they may, the others still reach the ceilings of the service.
    const session = number % 2 === 0 && { session: `run-${number % SESSIONS}` };
    const attribution = { user: `user-${number % 20}`, 'tag:team': `team-${number % 4}`, ...session };
    return crawls.crawl(anyCrawl(random, { payer, attribution, leaseMs: LEASE_MS }));
  };
  const sendInTurn = async (client: number): Promise<void> => {
    for (let request = 0; request < REQUESTS; request++) {
      const story = sessionRequest(system, tenant, CLIENTS * request + client);
      stories.push(story);
      await tell(story);
    }
  };
  const crawlInTurn = async (client: number): Promise<void> => {
    for (let count = 0; count < CRAWLS; count++) {
      const { steps } = await crawl({ keyId: tenant.keyId }, CRAWLERS * count + client);
      if (steps.some(({ step }) => step === 'refused')) await delay(REFUSED_PAUSE_MS);
    }
  };
  const sendQuoted = async (client: number): Promise<void> => {
    for (let number = client; number < QUOTED; number += QUOTED_AT_ONCE) {
      await tell(quoted[number] as Story);
      await delay(QUOTED_PAUSE_MS);
    }
  };
  const repeat = async (count: number, act: () => Promise<void>): Promise<void> => {
    for (; count > 0; count--) {
      await delay(PAUSE_MS);
      await act();
    }
  };
  const children = growChildTree(system, tenant, (apiKey, number) => crawl({ apiKey }, number));
  await Promise.all([
    children.then((those) => void stories.push(...those)),
    ...Array.from({ length: CLIENTS }, (_, client) => sendInTurn(client)),
    ...Array.from({ length: CRAWLERS }, (_, client) => crawlInTurn(client)),
    ...Array.from({ length: QUOTED_AT_ONCE }, (_, client) => sendQuoted(client)),
    repeat(PRICE_CHANGES, () => prices.change()),
    repeat(SERVICE_KILLS, () => crawls.kill()),
  ]);
  return stories;
}

function sessionRequest(system: ManyReplicas, tenant: Tenant, number: number): Story {
  const story = crowdRequest(system, tenant, number);
  Object.assign(story.ask, { session: `run-${number % SESSIONS}`, sessionBudget: SESSION_USD });
  return story;
}
