import { type CrawlBill, findCrawlFaults } from './check-crawl.js';
import type { Crawl, CrawlStep } from './crawl.js';

/** The judge of crawls itself: each wrong bill is found. Each page costs 5. */

const holdId = 'hold';
const order: Crawl['order'] = { holdId, payer: { keyId: 'key' }, quantityMax: 3, pages: 2, pageMs: 1, end: 'settle' };
const RESERVED: CrawlStep = { holdId, step: 'reserved', unitPicoUsd: '5' };
const RENEWED: CrawlStep[] = [1, 2].flatMap((quantity) => [
  { holdId, step: 'renew', quantity },
  { holdId, step: 'renewed', quantity },
]);
const END: CrawlStep = { holdId, step: 'end', quantity: 2 };
const ENDED: CrawlStep = { holdId, step: 'ended', status: 'settled', costPicoUsd: '10' };
const whole: Crawl = { order, steps: [RESERVED, ...RENEWED, END, ENDED], isCut: false };
const settled: CrawlBill = { reason: 'completed', held: 15n, paid: 10n, reading: undefined };
const cut: Crawl = { order, steps: [RESERVED, ...RENEWED], isCut: true };
const reaped: CrawlBill = { ...settled, reason: 'lease-expired' };
const refused: Crawl = { order, steps: [{ holdId, step: 'refused', code: 'service_ceiling' }], isCut: false };
const released: Crawl = { ...whole, order: { ...order, end: 'release' }, steps: [RESERVED, END, { ...ENDED, costPicoUsd: '0' }] };

test.each<[string, Crawl, CrawlBill | undefined]>([
  ['settled', whole, settled],
  ['settled after the reaper', whole, { ...settled, reading: 10n }],
  ['killed, and charged its last renewal', cut, reaped],
  ['killed while it renewed', { ...cut, steps: cut.steps.slice(0, -1) }, reaped],
  ['refused', refused, undefined],
  ['refused, and held by an earlier attempt', refused, { ...reaped, paid: 0n }],
  ['released', released, { ...settled, paid: 0n }],
])('a crawl that was %s has no fault', (_, crawl, bill) => {
  expect(findCrawlFaults(crawl, bill)).toEqual([]);
});

test.each<[string, Crawl, CrawlBill | undefined]>([
  ['it was held, and has no bill', whole, undefined],
  ['it was never held for its service', refused, reaped],
  ['it was refused: internal_error', { ...refused, steps: [{ holdId, step: 'refused', code: 'internal_error' }] }, undefined],
  ['paid 20, held 15', whole, { ...settled, paid: 20n }],
  ['paid 5, owed 10', whole, { ...settled, paid: 5n }],
  ['paid 10, owed 0', released, settled],
  ['paid 15, owed 10', whole, { ...settled, paid: 15n, reading: 10n }],
  ['its service was told 10, paid 5', whole, { ...settled, paid: 5n, reading: 5n }],
  ['its end was answered unknown', { ...whole, steps: [RESERVED, END, { ...ENDED, status: 'unknown' }] }, settled],
  ['its service did not end it', cut, settled],
  ['it was reaped', whole, reaped],
  ['the reaper billed 15', cut, { ...reaped, paid: 15n }],
  ['the reaper billed 5, renewed 10', cut, { ...reaped, paid: 5n }],
])('a crawl of which %s is found', (fault, crawl, bill) => {
  expect(findCrawlFaults(crawl, bill).join()).toContain(fault);
});
