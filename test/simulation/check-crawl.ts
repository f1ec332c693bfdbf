import type { Crawl } from './crawl.js';

/** The hold of a crawl in the ledger. Amounts are pico-USD. */
export interface CrawlBill {
  reason: string;
  held: bigint;
  paid: bigint;
  /** Cost billed by the reaper, before a late settlement. */
  reading: bigint | undefined;
}

/** Refusals that a crawl may get. */
const REFUSALS = ['insufficient_balance', 'service_ceiling', 'invalid_api_key', 'closed'];

/** Violations in the bill of a crawl, which its hold names. */
export function findCrawlFaults({ order, steps, isCut }: Crawl, bill: CrawlBill | undefined): string[] {
  const found: string[] = [];
  const reserved = steps.find(({ step }) => step === 'reserved');
  const unit = reserved?.step === 'reserved' ? BigInt(reserved.unitPicoUsd) : 0n;
  const price = (quantity: number): bigint => BigInt(Math.min(quantity, order.quantityMax)) * unit;
  const ended = steps.filter((one) => one.step === 'ended');
  const asked = steps.find((one) => one.step === 'end');
  const sent = steps.flatMap((one) => (one.step === 'renew' ? [one.quantity] : []));
  const acknowledged = steps.flatMap((one) => (one.step === 'renewed' ? [one.quantity] : [])).at(-1) ?? 0;
  const due = asked && (order.end === 'settle' ? price(asked.quantity) : 0n);
  const paid = bill?.paid ?? 0n;
  if (reserved && !bill) found.push('it was held, and has no bill');
  // An earlier attempt of a refused reserve may be held after it: its lease then ends by itself.
  if (paid > 0n && !reserved) found.push(`it was never held for its service, paid ${paid}`);
  if (paid > (bill?.held ?? 0n)) found.push(`paid ${paid}, held ${bill?.held}`);
  for (const one of steps) if (one.step === 'refused' && !REFUSALS.includes(one.code)) found.push(`it was refused: ${one.code}`);
  for (const { status, costPicoUsd } of ended) {
    if (status !== 'settled' && status !== 'already') found.push(`its end was answered ${status}`);
    else if (BigInt(costPicoUsd) !== paid) found.push(`its service was told ${costPicoUsd}, paid ${paid}`);
  }
  if (reserved && bill) {
    const isReaped = bill.reason === 'lease-expired';
    const isLate = bill.reading !== undefined;
    if (!isReaped && !asked) found.push('its service did not end it');
    // A late settlement takes no more than budgets and ceilings have left.
    if (!isReaped && due !== undefined && (isLate ? paid > due : paid !== due)) found.push(`paid ${paid}, owed ${due}`);
    if (isReaped && ended.length > 0) found.push('its service ended it, and it was reaped');
    const reading = isReaped ? paid : bill.reading;
    if (reading !== undefined && ![0, ...sent].some((quantity) => price(quantity) === reading)) found.push(`the reaper billed ${reading}`);
    if (reading !== undefined && reading < price(acknowledged)) found.push(`the reaper billed ${reading}, renewed ${price(acknowledged)}`);
  }
  const end = isCut ? 'its service was killed' : order.end;
  return found.map((fault) => `crawl ${order.holdId} (${order.quantityMax} pages, ${end}): ${fault}; ${bill?.reason ?? 'no bill'}`);
}

/** Counts crawls by their outcome for the service: `refused` with its code, `killed`, or how it ended. */
export function nameCrawlOutcome({ order, steps, isCut }: Crawl): string {
  const refused = steps.find((one) => one.step === 'refused');
  if (refused) return `refused ${refused.code}${refused.by === undefined ? '' : ` ${refused.by}`}`;
  if (isCut) return steps.some(({ step }) => step === 'reserved') ? 'killed with a hold' : 'killed';
  return order.end;
}
