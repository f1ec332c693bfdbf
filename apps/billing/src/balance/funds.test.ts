import { giveBack } from './funds.js';

test('money paid from an ended grant is forfeited, and not given to its successor', () => {
  const funds = { topup: 10n, topupHeld: 0n, plan: 5n, planHeld: 0n, expired: 0n, grant: { id: 'the-new-one', endsAt: 1 }, creditLine: 0n };
  const given = giveBack(funds, { planCost: 7n, liveGrantId: 'the-ended-one', topupCost: 2n }, 6n);
  expect({ given, topup: funds.topup, plan: funds.plan }).toEqual({
    given: { planCost: 0n, liveGrantId: null, topupCost: -2n, writeoff: 0n, forfeit: 4n },
    topup: 12n,
    plan: 5n,
  });
});
