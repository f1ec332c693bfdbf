import { itemRelease, itemRenew, itemReserve, itemSettle } from '#contracts/items.js';
import { ServiceError } from '#contracts/service-error.js';
import type { CrawlBill } from './check-crawl.js';
import type { PlannedFault } from './crash-matrix.js';
import { type Crawl, type CrawlAct, type CrawlOrder, type CrawlReply, runCrawl } from './crawl.js';
import { SERVICE } from './item.js';
import { type Network, Process } from './network.js';
import type { GatewayNode, ProxyNode, Settler } from './nodes.js';
import type { RequestStory } from './request-story.js';

const ENDPOINTS = { reserve: itemReserve, renew: itemRenew, settle: itemSettle, release: itemRelease };
const CALL_MS = 3_000;

/** One crawl, with the observations of its service and of the simulation. Budgets count it as a request. */
export class CrawlStory implements Crawl {
  readonly steps: Crawl['steps'] = [];
  order!: CrawlOrder;
  isCut = false;
  fault: PlannedFault | undefined;
  nextFault: PlannedFault | undefined;
  gateway: GatewayNode | undefined;
  proxy: ProxyNode | undefined;
  keyId: string | undefined;
  child: string | undefined;
  holdId: string | undefined;
  heldAt = 0;
  amount = 0n;
  /** A unit is no token. */
  readonly usedTokens = 0;
  readonly sessionLimit = undefined;
  readonly settledBy: Settler[] = [];
  /** Its cost after each settlement. */
  readonly costs: bigint[] = [];

  constructor(readonly index: number) {}

  /** As that of the request of its number. */
  get attribution(): RequestStory['attribution'] {
    return { user: `user-${this.index % 2}`, session: `run-${this.index % 4}`, 'tag:team': `team-${this.index % 3}` };
  }

  get requestId(): string {
    return `crawl-${this.index}`;
  }

  /** Undefined: it was never held. */
  get bill(): CrawlBill | undefined {
    if (this.holdId === undefined) return undefined;
    const [first = 0n] = this.costs;
    return {
      ...{ held: this.amount, paid: this.costs.at(-1) ?? 0n },
      reason: this.settledBy.at(-1) === 'reaper' ? 'lease-expired' : 'ended by its service',
      reading: this.costs.length > 1 ? first : undefined,
    };
  }
}

/** A service that calls the gateways as over NATS. */
export class ItemService {
  readonly process: Process;
  private readonly open = new Set<CrawlStory>();

  constructor(network: Network) {
    this.process = new Process(SERVICE, network);
  }

  async run(story: CrawlStory): Promise<void> {
    this.open.add(story);
    const call = (act: CrawlAct, request: object): Promise<CrawlReply> => this.call(act, { ...request, ...nameWork(act, story) });
    await runCrawl(story.order, call, (step) => {
      if (this.process.isAlive) story.steps.push(step);
    });
    this.open.delete(story);
  }

  kill(): void {
    for (const story of this.open) story.isCut = true;
    this.process.kill();
  }

  private async call(act: CrawlAct, request: object): Promise<CrawlReply> {
    try {
      return (await this.process.request(ENDPOINTS[act] as typeof itemReserve, request as never, { timeoutMs: CALL_MS })) as CrawlReply;
    } catch (error) {
      if (error instanceof ServiceError) return { code: error.code };
      throw error;
    }
  }
}

/** The name of the work, by which the simulation finds its story. */
function nameWork(act: CrawlAct, { requestId }: CrawlStory): { requestId?: string } {
  return act === 'reserve' ? { requestId } : {};
}
