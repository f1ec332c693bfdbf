import { listPlanChoices, splitPricePlan } from './price-plan-words.js';

const AT = Date.parse('2027-01-15T00:00:00Z');
const next = (from: string, pricePlan: string | null = 'reseller') => ({ pricePlan: 'partner', nextPricePlan: { pricePlan, from } });

test.each([
  ['none', {}, { now: 'list prices', next: null }],
  ['one', { pricePlan: 'partner', nextPricePlan: null }, { now: 'partner', next: null }],
  ['a later one', next('2027-02-01'), { now: 'partner', next: { plan: 'reseller', from: '2027-02-01' } }],
  ['a later return to list prices', next('2027-02-01', null), { now: 'partner', next: { plan: 'list prices', from: '2027-02-01' } }],
  ['a later one that has come', next('2027-01-15T00:00:00Z'), { now: 'reseller', next: null }],
])('an account with %s price plan', (_, account, split) => {
  expect(splitPricePlan(account, AT)).toEqual(split);
});

test('the choices say what each plan is, and that the catalog lacks the present one', () => {
  const models = [{ id: 'qwen3-8b', price: {} as never }];
  const plans = [
    { id: 'partner', discountPercent: '12.5', models: [] },
    { id: 'reseller', discountPercent: '20', models },
    { id: 'flat', discountPercent: '0', models },
  ];
  expect(listPlanChoices(plans, 'old')).toEqual([
    ['', 'List prices'],
    ['partner', 'partner: 12.5 % off'],
    ['reseller', 'reseller: 20 % off, own prices of 1 model'],
    ['flat', 'flat: own prices of 1 model'],
    ['old', 'old: not in the catalog, so list prices'],
  ]);
  expect(listPlanChoices([], null)).toEqual([['', 'List prices']]);
});
