import { readFileSync } from 'node:fs';
import { catalogApply } from '#contracts/catalog.js';
import { parseChildKey } from '#contracts/child-keys/child-key.js';
import type { Messaging } from '#messaging/messaging.js';
import type { StackInfo } from '#testing/stack.js';
import { findCrawlFaults, nameCrawlOutcome } from '../simulation/check-crawl.js';
import type { Crawl, CrawlOrder } from '../simulation/crawl.js';
import type { Bill } from './check-bill.js';
import { CrawlerProcess } from './crawler-process.js';
import { mostAtOnce } from './judge-governance.js';

/** Prices and ceilings of the service `crawler`, in dollars. */
interface Terms {
  unitUsd: string;
  dayMaxUsd: string;
  openHoldsMax: number;
}

/** Sets the terms of the service in the catalog of the repository. */
async function applyTerms(administrator: Messaging, { unitUsd, dayMaxUsd, openHoldsMax }: Terms): Promise<void> {
  const yaml = readFileSync('config/catalog.yaml', 'utf8')
    .replace('unitUsd: "0.002"', `unitUsd: "${unitUsd}"`)
    .replace('dayMaxUsd: "20"', `dayMaxUsd: "${dayMaxUsd}"`)
    .replace('openHoldsMax: 100', `openHoldsMax: ${openHoldsMax}`);
  await administrator.request(catalogApply, { yaml });
}

/** The crawls of one account, and what is wrong with them. */
export class Crawls {
  private readonly all: Crawl[] = [];

  private constructor(
    private readonly crawler: CrawlerProcess,
    private readonly terms: Terms,
  ) {}

  static async start(stack: StackInfo, administrator: Messaging, terms: Terms): Promise<Crawls> {
    await applyTerms(administrator, terms);
    return new Crawls(await CrawlerProcess.start(stack), terms);
  }

  async crawl(order: CrawlOrder): Promise<Crawl> {
    const crawl = await this.crawler.crawl(order);
    this.all.push(crawl);
    return crawl;
  }

  /** Kills the service, and starts it anew. */
  kill(): Promise<void> {
    return this.crawler.kill();
  }

  /** Number of crawls by outcome. */
  get outcomes(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const outcome of this.all.map(nameCrawlOutcome).sort()) counts[outcome] = (counts[outcome] ?? 0) + 1;
    return counts;
  }

  /** Violations in the bills of the account, when no hold is open. */
  faults(bills: readonly Bill[]): string[] {
    const items = bills.filter(({ isItem }) => isItem);
    const byHold = new Map(bills.map((bill) => [bill.holdId, bill]));
    const known = new Set(this.all.map(({ order }) => order.holdId));
    const most = mostAtOnce(items);
    return [
      ...this.all.flatMap((crawl) => findCrawlFaults(crawl, byHold.get(crawl.order.holdId))),
      ...this.all.flatMap(({ order }) => findWrongPayer(order, byHold.get(order.holdId))),
      ...items.filter(({ holdId }) => !known.has(holdId)).map(({ holdId }) => `the item ${holdId} is of no crawl`),
      ...(most > this.terms.openHoldsMax ? [`${most} holds of the service were open at once`] : []),
    ];
  }

  stop(): Promise<void> {
    return this.crawler.stop();
  }
}

/** A crawl that a child key pays is billed to it, so that its limits count it. */
function findWrongPayer({ holdId, payer }: CrawlOrder, bill: Bill | undefined): string[] {
  if (!bill?.keyId) return [];
  const child = ('apiKey' in payer && parseChildKey(payer.apiKey)?.levels.at(-1)?.path) || null;
  return bill.child === child ? [] : [`crawl ${holdId}: the child key ${child} pays, and its bill has ${bill.child}`];
}
