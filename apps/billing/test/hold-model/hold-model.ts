import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Question } from './explore.js';
import { QuintModel } from './quint-model.js';

const PATH = fileURLToPath(new URL('../../../../spec/hold.qnt', import.meta.url));
export const HOLD_MODEL_TEXT = readFileSync(PATH, 'utf8');

/** Opens spec/hold.qnt, or a changed text of it. */
export function openHoldModel(text = HOLD_MODEL_TEXT): QuintModel {
  return new QuintModel(PATH, text);
}

/** The invariants of docs/model.md. */
const INVARIANTS = [
  'I1_heldIsTheOpenHolds',
  'I2_moneyIsTopUpsLessCosts',
  'I4_noHoldIsOpenAndSettled',
  'I9_costIsUsageAtThePriceOfTheHold',
  'I10_onlyReapedHoldsAreSettledLate',
  'I14_budgetsAreCostsAndHolds',
  'aCostIsAtMostItsHold',
  'heldIsWithinTheBalance',
  'noBudgetIsExceeded',
  'onlyUsageIsBilled',
  'nothingIsSpentAfterALease',
  'noLivingGatewayIsReaped',
  'theReaperBillsTheLastReading',
  'anAnsweredRequestHoldsNothing',
] as const;

const ALL = { invariants: INVARIANTS, ending: 'allHaveEnded', depthMax: Number.POSITIVE_INFINITY };

/** One request, and everything that can go wrong. */
export const ONE_REQUEST: Question = {
  ...ALL,
  init: 'init',
  step: 'step',
  witnesses: ['seenTombstone', 'seenOver', 'seenGivenBack', 'seenOldPrice'],
};

/** Two requests for the same money, at each place where it may end: the account, the budget of the key, the budget of the session. */
export const TWO_REQUESTS = {
  balance: askAboutTwo('initBalance'),
  key: askAboutTwo('initKey'),
  session: askAboutTwo('initSession'),
};

function askAboutTwo(init: string): Question {
  return { ...ALL, init, step: 'moneyStep', witnesses: ['seenRefused', 'seenTombstone', 'seenOver', 'seenWrittenOff'] };
}
