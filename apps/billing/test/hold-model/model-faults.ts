import { longOr } from '#testing/long-run.js';
import type { Question } from './explore.js';
import { ONE_REQUEST, TWO_REQUESTS } from './hold-model.js';

/** A mistake in the life of a hold: the text of spec/hold.qnt that it changes, and the invariant that must find it. */
export interface ModelFault {
  name: string;
  from: string;
  to: string;
  /** The exploration that finds it. */
  question: Question;
  invariant: string;
}

type Row = readonly [name: string, from: string, to: string, invariant: string];

const OF_ONE_REQUEST: readonly Row[] = [
  [
    'a hold is settled twice',
    'else if (l.settlements.get(id).reaped and not(l.settlements.get(id).late)) settleLateIn',
    'else if (not(l.settlements.get(id).late)) settleLateIn',
    'I10_onlyReapedHoldsAreSettledLate',
  ],
  [
    'a release is dropped',
    '| Release(id) => takeSettle(id, 0, answered)',
    '| Release(id) => all { answered, write(ledger, requests.put(id, { ...requests.get(id), gateway: "done" })) }',
    'anAnsweredRequestHoldsNothing',
  ],
  [
    'a release leaves no tombstone',
    'else if (not(l.settlements.keys().contains(id))) tombstoneIn(l, id)',
    'else if (not(l.settlements.keys().contains(id))) l',
    'anAnsweredRequestHoldsNothing',
  ],
  ['the reaper does not look at the lease', 'l.holds.get(id).lease == 0', 'l.holds.get(id).lease <= LEASE', 'nothingIsSpentAfterALease'],
  [
    'a budget is not given back',
    'budgets: count(l, id, -hold.amount, cost)',
    'budgets: count(l, id, 0, cost)',
    'I14_budgetsAreCostsAndHolds',
  ],
  ['the rest of a hold stays held', 'held: l.held - hold.amount', 'held: l.held - cost', 'I1_heldIsTheOpenHolds'],
  [
    'a hold has the price of now',
    'reserveIn(ledger, id, OUT_MAX * pinned, pinned)',
    'reserveIn(ledger, id, OUT_MAX * price, price)',
    'I9_costIsUsageAtThePriceOfTheHold',
  ],
  ['a cost exceeds its hold', 'val cost = min(usage, hold.amount)', 'val cost = usage', 'aCostIsAtMostItsHold'],
  ['a repeated reserve holds again', 'else if (l.holds.keys().contains(id)) { ledger: l, answer: "held" }', '', 'I1_heldIsTheOpenHolds'],
  [
    'a reserve after its settlement holds money',
    'if (l.settlements.keys().contains(id)) { ledger: l, answer: "closed" }\n    else if',
    'if',
    'I4_noHoldIsOpenAndSettled',
  ],
  [
    'a proxy streams on without renewals',
    'hasDeadline(requests.get(id)) implies requests.get(id).sinceRenewal == 0',
    'requests.get(id).gateway == "reserving" implies requests.get(id).sinceRenewal == 0',
    'nothingIsSpentAfterALease',
  ],
];

/** Found after thousands of states. */
const DEEP_OF_ONE_REQUEST: readonly Row[] = [
  [
    'a late settlement charges the whole cost again',
    'val due = min(usage, before.amount) - before.cost',
    'val due = min(usage, before.amount)',
    'I9_costIsUsageAtThePriceOfTheHold',
  ],
  [
    'the reaper does not restart leases after an outage',
    'if (billing == "started") withLeases(ledger, lease => max(lease, LEASE)) else reapIn(ledger)',
    'reapIn(ledger)',
    'noLivingGatewayIsReaped',
  ],
  ['the reaper bills nothing', 'left.holds.get(id).reading, true', '0, true', 'theReaperBillsTheLastReading'],
  ['an older reading replaces a newer one', 'reading: max(hold.reading, tokens)', 'reading: tokens', 'theReaperBillsTheLastReading'],
  ['a renewal keeps the old lease', 'lease: LEASE, reading: max(', 'lease: hold.lease, reading: max(', 'nothingIsSpentAfterALease'],
  ['nothing is ever reaped', 'l.holds.keys().filter(id => l.holds.get(id).lease == 0)', 'Set()', 'allHaveEnded'],
];

const OF_TWO_REQUESTS: Record<'balance' | 'key', readonly Row[]> = {
  balance: [
    ['the balance is not asked', 'else if (amount > l.topup - l.held) { ledger: l, answer: "refused" }', '', 'heldIsWithinTheBalance'],
  ],
  key: [
    [
      'budgets are not asked',
      'else if (findBudgets(id).exists(b => amount > leftIn(l, b))) { ledger: l, answer: "refused" }',
      '',
      'noBudgetIsExceeded',
    ],
  ],
};

const DEEP_OF_TWO_REQUESTS: Record<'balance' | 'key', readonly Row[]> = {
  balance: [
    ['a late settlement takes what others hold', 'val charged = min(due, max(left, 0))', 'val charged = due', 'heldIsWithinTheBalance'],
  ],
  key: [
    [
      'a late settlement exceeds a budget',
      'findBudgets(id).fold(l.topup - l.held, (least, b) => min(least, leftIn(l, b)))',
      'l.topup - l.held',
      'noBudgetIsExceeded',
    ],
  ],
};

const { balance, key } = TWO_REQUESTS;

export const MODEL_FAULTS: ModelFault[] = [
  ...list(ONE_REQUEST, OF_ONE_REQUEST, DEEP_OF_ONE_REQUEST),
  ...list(balance, OF_TWO_REQUESTS.balance, DEEP_OF_TWO_REQUESTS.balance),
  ...list(key, OF_TWO_REQUESTS.key, DEEP_OF_TWO_REQUESTS.key),
];

/** The deep ones are part of the long run. */
function list(question: Question, quick: readonly Row[], deep: readonly Row[]): ModelFault[] {
  return [...quick, ...longOr([], deep)].map(([name, from, to, invariant]) => ({ name, from, to, invariant, question }));
}
