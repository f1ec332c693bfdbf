import { setTimeout as delay } from 'node:timers/promises';
import { budgetValues } from '#contracts/billing/budgets.js';
import { childKeyMint, childKeyRevoke } from '#contracts/billing/child-keys.js';
import { isBelowChild } from '#contracts/rules/child-path.js';
import type { Tenant } from '#testing/tenant.js';
import { type Story, tell } from './chaos-client.js';
import { crowdRequest } from './crowd.js';
import { sumAmounts, type Used } from './judge-governance.js';
import type { ManyReplicas } from './many-replicas.js';

interface Child {
  id: string;
  key: string;
}

/** The limit of a child key by its depth: less than its requests and those of the child keys below it would cost. */
const LIMITS = [300_000_000n, 200_000_000n, 100_000_000n];
const USD = ['0.0003', '0.0002', '0.0001'];
const CHAINS = 25;
const REQUESTS = 20;
const ALSO_EVERY = 10;
const TRIES_MAX = 100;

/**
 * 100 child keys in chains of up to three, each made while those before it work, with 20 requests each, one after the other. Some end after three
 * seconds, and some are revoked with all below them. `also` is what each child key does twice besides its requests.
 */
export async function growChildTree(
  system: ManyReplicas,
  tenant: Tenant,
  also: (apiKey: string, number: number) => Promise<unknown> = async () => undefined,
): Promise<Story[]> {
  const { keyId } = tenant;
  const stories: Story[] = [];
  const works: Promise<void>[] = [];
  const use = (child: Child, number: number): void => {
    works.push(work(child, number));
  };
  const work = async ({ id, key }: Child, number: number): Promise<void> => {
    for (let request = 0; request < REQUESTS; request++) {
      const story = crowdRequest(system, { keyId, apiKey: key }, REQUESTS * number + request);
      stories.push(story);
      await tell(story);
      if (request % ALSO_EVERY === 1) await also(key, number);
      if (number % 8 === 3 && request === 5) await persist(() => system.administrator.request(childKeyRevoke, { keyId, childId: id }));
    }
  };
  const grow = async (chain: number): Promise<void> => {
    const limitPicoUsd = String(LIMITS[0]);
    const root = await persist(() =>
      system.administrator.request(childKeyMint, { keyId, seconds: chain % 6 === 5 ? 6 : 600, limitPicoUsd }),
    );
    const top = { id: root.childId, key: root.key };
    use(top, 4 * chain);
    const middle = await mintBelow(system, top, 1, chain);
    if (middle) use(middle, 4 * chain + 1);
    const [last, other] = [middle && (await mintBelow(system, middle, 2, chain)), await mintBelow(system, top, 1, chain + 1)];
    if (last) use(last, 4 * chain + 2);
    if (other) use(other, 4 * chain + 3);
  };
  await Promise.all(Array.from({ length: CHAINS }, (_, chain) => grow(chain)));
  await Promise.all(works);
  return stories;
}

/** Undefined: the child key above has ended. */
async function mintBelow(system: ManyReplicas, { key }: Child, depth: number, number: number): Promise<Child | undefined> {
  return persist(async () => {
    const response = await fetch(`${system.gatewayUrl(number)}/v1/key/children`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ budget_usd: USD[depth], ...(number % 5 === 2 && { expires_in: 3 }) }),
    });
    if (response.status === 200) return (await response.json()) as Child;
    if (response.status === 400 || response.status === 401) return undefined;
    throw new Error(`a child key was answered ${response.status}: ${await response.text()}`);
  });
}

/** Returns the child keys that cost more than they may, or than the settlements of them and those below them, or have money on hold. */
export async function judgeChildTree(system: ManyReplicas, { accountId }: Tenant, budgetId: string, used: readonly Used[]) {
  const { values } = await system.administrator.request(budgetValues, { accountId, budgetId, limit: 1_000 });
  const faults = values.flatMap(({ value, spentPicoUsd, heldPicoUsd }) => {
    const below = used.filter(({ child }) => child !== null && isBelowChild(child, value));
    const cost = sumAmounts(below, ({ costPicoUsd }) => costPicoUsd);
    const limit = LIMITS[value.split('.').length - 1] ?? 0n;
    const isRight = spentPicoUsd === `${cost}` && heldPicoUsd === '0' && cost <= limit;
    return isRight ? [] : [`${value}: ${spentPicoUsd} spent and ${heldPicoUsd} held of ${limit}, its settlements are ${cost}`];
  });
  return { faults, children: values.length };
}

/** Tries again while services start anew. */
async function persist<Result>(ask: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      if (tries >= TRIES_MAX) throw error;
      await delay(200);
    }
  }
}
