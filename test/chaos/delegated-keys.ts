import { budgetSet } from '#contracts/billing/budgets.js';
import { childKeyMint, childKeyRevoke } from '#contracts/billing/child-keys.js';
import { isBelowChild } from '#contracts/rules/child-path.js';
import type { Tenant } from '#testing/tenant.js';
import type { Random } from '../simulation/random.js';
import type { Ask } from './bookkeeper.js';
import type { Story } from './chaos-client.js';
import type { Bill } from './check-bill.js';

/** The most that each child key may cost by its depth: less than the requests and crawls of a round below it would. */
const LIMITS = [1_000_000_000n, 600_000_000n, 400_000_000n];
const USD = ['0.001', '0.0006', '0.0004'];
const SECONDS = 3_600;
const TOPS = 2;
const MIDDLES = 2;

interface Child {
  path: string;
  apiKey: string;
}

/** Child keys of one key in chains of three. Each round has new ones, of which one is revoked meanwhile. */
export class DelegatedKeys {
  private readonly limits = new Map<string, bigint>();
  private parents: Child[] = [];

  constructor(
    private readonly tenant: Tenant,
    private readonly ask: Ask,
  ) {}

  /** Makes the child keys above those of the requests of a round. */
  async begin(gatewayUrl: string): Promise<void> {
    const { accountId, keyId } = this.tenant;
    if (this.limits.size === 0) await this.ask(budgetSet, { accountId, dimension: 'child', period: 'total', limitPicoUsd: `${LIMITS[0]}` });
    this.parents = [];
    for (let top = 0; top < TOPS; top++) {
      const { childId: path, key: apiKey } = await this.ask(childKeyMint, { keyId, seconds: SECONDS, limitPicoUsd: `${LIMITS[0]}` });
      this.limits.set(path, LIMITS[0] as bigint);
      this.parents.push({ path, apiKey });
      for (let middle = 0; middle < MIDDLES; middle++) this.parents.push(await this.mintBelow({ path, apiKey }, gatewayUrl));
    }
  }

  /** A new child key below one of the round, for one request. */
  async makeKey(random: Random, gatewayUrl: string): Promise<Story['key']> {
    const { path: child, apiKey } = await this.mintBelow(this.pick(random), gatewayUrl);
    return { keyId: this.tenant.keyId, apiKey, child };
  }

  /** A child key of the round. */
  pick(random: Random): Child {
    return random.pick(this.parents) as Child;
  }

  /** Ends a child key of the round, with all below it. */
  async revoke(random: Random): Promise<void> {
    await this.ask(childKeyRevoke, { keyId: this.tenant.keyId, childId: this.pick(random).path });
  }

  /** Returns the child keys that cost more than they may, with those below them. */
  exceeded(bills: readonly Bill[]): string[] {
    const paidBy = bills.filter(({ child }) => child !== null);
    return [...this.limits].flatMap(([path, limit]) => {
      const cost = paidBy.reduce((sum, { child, paid }) => (isBelowChild(child ?? '', path) ? sum + paid : sum), 0n);
      return cost > limit ? [`the child key ${path} cost ${cost}, and may cost ${limit}`] : [];
    });
  }

  private async mintBelow({ path, apiKey }: Child, gatewayUrl: string): Promise<Child> {
    const response = await fetch(`${gatewayUrl}/v1/key/children`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ budget_usd: USD[path.split('.').length] }),
    });
    if (response.status !== 200) throw new Error(`a child key was answered ${response.status}: ${await response.text()}`);
    const { id, key } = (await response.json()) as { id: string; key: string };
    this.limits.set(id, LIMITS[path.split('.').length] as bigint);
    return { path: id, apiKey: key };
  }
}
