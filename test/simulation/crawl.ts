import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from './random.js';

// Node also runs this file directly and strips its types, as a part of the program `crawler.ts`.

/** A piece of work: it holds `quantityMax` pages, renews after each page that it took, and ends. */
export interface CrawlOrder {
  holdId: string;
  /** The key that pays, or its id. */
  payer: { keyId: string } | { apiKey: string };
  attribution?: Record<string, string>;
  quantityMax: number;
  /** Pages that it takes. Those beyond `quantityMax` cost nothing. */
  pages: number;
  pageMs: number;
  /** Absent: the lease of billing. */
  leaseMs?: number;
  /** `nothing`: it forgets the hold, whose lease ends by itself. */
  end: 'settle' | 'release' | 'nothing';
}

/** One step of a crawl. `renew` and `end` are told before the call. */
export type CrawlStep = { holdId: string } & (
  | { step: 'reserved'; unitPicoUsd: string }
  /** `code` of a refusal or an error; `by` names the ceiling that refuses. */
  | { step: 'refused'; code: string; by?: string }
  | { step: 'renew'; quantity: number }
  | { step: 'renewed'; quantity: number }
  | { step: 'end'; quantity: number }
  /** Told a second time for the repeated call. */
  | { step: 'ended'; status: string; costPicoUsd: string }
  | { step: 'done' }
);

export interface CrawlReply {
  /** Absent in an error. */
  status?: string;
  code?: string;
  accountId?: string;
  unitPicoUsd?: string;
  costPicoUsd?: string;
  stop?: boolean;
  ceiling?: { by: string };
}

/** A crawl, and what its service told of it. */
export interface Crawl {
  order: CrawlOrder;
  steps: CrawlStep[];
  /** The service was killed before its end. */
  isCut: boolean;
}

export type CrawlAct = 'reserve' | 'renew' | 'settle' | 'release';

const AGAIN_MS = 100;

/** A random crawl: of a few pages, some beyond the hold, which ends in each way. */
export function anyCrawl(
  random: Random,
  { pageMsMax = 200, ...rest }: Pick<CrawlOrder, 'payer' | 'attribution' | 'leaseMs'> & { pageMsMax?: number },
): CrawlOrder {
  const quantityMax = Math.floor(random.between(1, 7));
  return {
    holdId: makeHoldId(random),
    ...rest,
    quantityMax,
    pages: Math.floor(random.between(0, quantityMax + 2)),
    pageMs: Math.floor(random.between(10, pageMsMax)),
    end: random.pick(['settle', 'settle', 'settle', 'settle', 'release', 'nothing'] as const) ?? 'settle',
  };
}

/** A UUID of version 7 that is made now. */
function makeHoldId(random: Random): string {
  const time = Date.now().toString(16).padStart(12, '0');
  const digits = Array.from({ length: 18 }, () => Math.floor(random.between(0, 16)).toString(16)).join('');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${digits.slice(0, 3)}-8${digits.slice(3, 6)}-${digits.slice(6)}`;
}

/**
 * Works off a crawl as a service does: a call without an answer is repeated with the same id. `call` rejects without an answer; an error of the
 * system is a reply with its code.
 */
export async function runCrawl(
  order: CrawlOrder,
  call: (act: CrawlAct, request: object) => Promise<CrawlReply>,
  tell: (step: CrawlStep) => void,
): Promise<void> {
  const { holdId, payer, attribution, quantityMax, leaseMs, pages, pageMs, end } = order;
  const held = await persist('reserve', { holdId, ...payer, item: 'page', quantityMax, attribution, leaseMs });
  if (held.status === 'held') {
    const { accountId, unitPicoUsd = '' } = held;
    tell({ holdId, step: 'reserved', unitPicoUsd });
    const quantity = await work();
    if (end !== 'nothing') {
      tell({ holdId, step: 'end', quantity });
      // Repeated, as after a lost answer: the second one must say the same.
      for (let count = 0; count < 2; count++) {
        const { status = '', costPicoUsd = '' } = await persist(end, { holdId, accountId, ...(end === 'settle' && { quantity }) });
        tell({ holdId, step: 'ended', status, costPicoUsd });
      }
    }
  } else tell({ holdId, step: 'refused', code: held.code ?? held.status ?? '', ...(held.ceiling && { by: held.ceiling.by }) });
  tell({ holdId, step: 'done' });

  /** Returns the pages that it took until the end, or until the renewal said stop. */
  async function work(): Promise<number> {
    for (let quantity = 1; quantity <= pages; quantity++) {
      await delay(pageMs);
      tell({ holdId, step: 'renew', quantity });
      const reply = await call('renew', { holdId, quantity, leaseMs }).catch(() => undefined);
      if (reply?.status === 'renewed') tell({ holdId, step: 'renewed', quantity });
      if (reply?.status === 'ended' || reply?.stop) return quantity;
    }
    return pages;
  }

  /** Repeats a call with the same id until it is answered. */
  async function persist(act: CrawlAct, request: object): Promise<CrawlReply> {
    for (;;) {
      const reply = await call(act, request).catch(() => undefined);
      if (reply && reply.code !== 'unavailable') return reply;
      await delay(AGAIN_MS);
    }
  }
}
