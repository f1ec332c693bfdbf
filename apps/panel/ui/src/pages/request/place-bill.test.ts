import type { EndedRequest } from '../../../../src/shapes/overview.js';
import { placeBill } from './place-bill.js';

/** The clock of the database is an hour ahead of that of the gateway. */
const RESERVED_AT = '2027-01-01T01:00:00.010Z';
const activity: EndedRequest = {
  ...{ requestId: 'req_1', receivedAt: '2027-01-01T00:00:00.000Z', protocol: 'chat', stream: true, status: 200 },
  ...{ outcome: 'completed', heldMs: 8, lastContentMs: 67, endedMs: 75 },
};
const at = (ms: number): string => new Date(Date.parse(RESERVED_AT) + ms).toISOString();
const settled = (ms: number, reapedMs?: number) => ({
  reservedAt: RESERVED_AT,
  settlement: { settledAt: at(ms), reaped: reapedMs === undefined ? null : { settledAt: at(reapedMs) } } as never,
});

test.each<[string, Parameters<typeof placeBill>, ReturnType<typeof placeBill>]>([
  ['while it runs', [{ reservedAt: RESERVED_AT, settlement: null }, activity], { heldMs: 8, reapedMs: undefined, settledMs: undefined }],
  ['not recorded', [settled(60)], { heldMs: 0, reapedMs: undefined, settledMs: 60 }],
  ['settled before the end of the reply', [settled(60), activity], { heldMs: 8, reapedMs: undefined, settledMs: 68 }],
  ['seemingly settled after the end', [settled(70), activity], { heldMs: 8, reapedMs: undefined, settledMs: 75 }],
  ['settled late', [settled(3_000), activity], { heldMs: 8, reapedMs: undefined, settledMs: 3_008 }],
  ['a client that left', [settled(70), { ...activity, outcome: 'client-disconnected' }], { heldMs: 8, reapedMs: undefined, settledMs: 78 }],
  ['settled by the reaper first', [settled(90_000, 60_000), activity], { heldMs: 8, reapedMs: 60_008, settledMs: 90_008 }],
])('%s', (_, [request, recorded], times) => {
  expect(placeBill(request, recorded)).toEqual(times);
});
