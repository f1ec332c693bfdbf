import type { Movement, MovementKind } from '#contracts/billing/movements.js';
import type { UsageRow } from '#contracts/billing/usage.js';
import { makeStatement } from './statement.js';

const PERIOD = {
  accountId: 'a',
  month: '2027-01',
  from: '2027-01-01T00:00:00.000Z',
  to: '2027-02-01T00:00:00.000Z',
  isClosed: true,
  receipts: null,
};
const ZERO = { requests: 0, estimatedRequests: 0, promptTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0 };

function movement(kind: MovementKind, amountPicoUsd: string, createdAt = '2027-01-10T12:00:00.000Z'): Movement {
  return {
    movementId: 'm',
    kind,
    amountPicoUsd,
    reference: `${kind}-1`,
    grantId: null,
    refundOf: null,
    noteOf: null,
    reason: null,
    createdAt,
  };
}

function day(date: string, requests: number, costPicoUsd: string, forfeitedPicoUsd = '0'): UsageRow {
  return { ...ZERO, start: `${date}T00:00:00.000Z`, requests, costPicoUsd, forfeitedPicoUsd };
}

const HUGE = '999999999999999999999999999999';

test.each([
  // name, opening, movements, days, [in, out, cost, forfeited, closing]
  ['an empty month', 7n, [], [], ['0', '0', '0', '0', '7']],
  [
    'top-up, grant, credit and credit note come in',
    0n,
    [movement('topup', '10'), movement('grant', '5'), movement('credit', '1'), movement('credit-note', '2')],
    [],
    ['18', '0', '0', '0', '18'],
  ],
  ['refund and debit go out', 20n, [movement('refund', '-4'), movement('debit', '-3')], [], ['0', '7', '0', '0', '13']],
  ['requests cost', 20n, [], [day('2027-01-05', 2, '3'), day('2027-01-06', 1, '4')], ['0', '0', '7', '0', '13']],
  [
    'a plan ends, in part while requests hold it',
    20n,
    [movement('forfeit', '-6')],
    [day('2027-01-05', 1, '2', '5')],
    ['0', '0', '2', '11', '7'],
  ],
  ['a late settlement gives money back', 5n, [], [day('2027-01-05', 0, '-2')], ['0', '0', '-2', '0', '7']],
  ['a grant of nothing', 5n, [movement('grant', '0')], [], ['0', '0', '0', '0', '5']],
  ['amounts beyond 2^53', 1n, [movement('topup', HUGE)], [day('2027-01-05', 1, '1')], [HUGE, '0', '1', '0', HUGE]],
] as const)('%s: opening + in − out − cost − forfeited = closing', (_, opening, movements, days, sums) => {
  const statement = makeStatement(PERIOD, { opening, movements: [...movements], days: [...days] });
  const { inPicoUsd, outPicoUsd, costPicoUsd, forfeitedPicoUsd, closingPicoUsd, lines } = statement;
  expect([inPicoUsd, outPicoUsd, costPicoUsd, forfeitedPicoUsd, closingPicoUsd]).toEqual(sums);
  expect(lines.at(-1)?.balancePicoUsd ?? String(opening)).toBe(closingPicoUsd);
});

test('lines are in the order of time, the requests of a day after its movements', () => {
  const noon = movement('topup', '10', '2027-01-05T12:00:00.000Z');
  const midnight = movement('refund', '-1', '2027-01-06T00:00:00.000Z');
  const { lines, ...sums } = makeStatement(PERIOD, { opening: 2n, movements: [midnight, noon], days: [day('2027-01-05', 3, '4', '1')] });
  expect(sums).toEqual({
    ...PERIOD,
    openingPicoUsd: '2',
    inPicoUsd: '10',
    outPicoUsd: '1',
    costPicoUsd: '4',
    forfeitedPicoUsd: '1',
    closingPicoUsd: '6',
  });
  const start = '2027-01-05T00:00:00.000Z';
  expect(lines).toEqual([
    { at: noon.createdAt, kind: 'topup', amountPicoUsd: '10', balancePicoUsd: '12', reference: 'topup-1', reason: null, requests: null },
    { at: start, kind: 'usage', amountPicoUsd: '-4', balancePicoUsd: '8', reference: null, reason: null, requests: 3 },
    { at: start, kind: 'forfeit', amountPicoUsd: '-1', balancePicoUsd: '7', reference: null, reason: expect.any(String), requests: null },
    {
      at: midnight.createdAt,
      kind: 'refund',
      amountPicoUsd: '-1',
      balancePicoUsd: '6',
      reference: 'refund-1',
      reason: null,
      requests: null,
    },
  ]);
});
