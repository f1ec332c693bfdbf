import { type AutoTopup, autoTopupRemove, autoTopupSet, autoTopupShow, checkoutCreate } from '#contracts/payments.js';
import { command } from '../command.js';
import { account, flag, required, usd } from '../parameters.js';
import { renderFields, renderMoney } from '../render.js';

export const paymentCommands = [
  command({
    name: 'checkout',
    summary: 'Open a page of Stripe on which an amount is paid by card; what is paid becomes a top-up',
    parameters: { account, usd: required(usd, 'amount, in whole cents'), saveCard: flag('store the card for automatic top-ups') },
    examples: ['checkout --account acme --usd 25', 'checkout --account acme --usd 25 --save-card'],
    endpoint: checkoutCreate,
    request: ({ account, usd, saveCard }) => ({ accountId: account, usd, saveCard }),
    render: ({ accountId, amountPicoUsd, url, expiresAt }) =>
      renderFields({ account: accountId, amount: renderMoney(amountPicoUsd), page: url, 'ends at': expiresAt }),
  }),
  command({
    name: 'auto-topup set',
    summary: 'Top an account up with its stored card when its balance is low, up to a monthly cap',
    parameters: {
      account,
      below: required(usd, 'top up when less than this is available'),
      usd: required(usd, 'amount of one top-up, in whole cents'),
      monthlyCap: required(usd, 'the most of all automatic top-ups in a month (UTC); it is never exceeded'),
    },
    examples: ['auto-topup set --account acme --below 5 --usd 25 --monthly-cap 200'],
    endpoint: autoTopupSet,
    request: ({ account, below, usd, monthlyCap }) => ({
      accountId: account,
      thresholdUsd: below,
      amountUsd: usd,
      monthlyCapUsd: monthlyCap,
    }),
    render: renderAutoTopup,
  }),
  command({
    name: 'auto-topup show',
    summary: 'Show the automatic top-ups of an account: the rule, the stored card and the sum of this month',
    parameters: { account },
    examples: ['auto-topup show --account acme'],
    endpoint: autoTopupShow,
    request: ({ account }) => ({ accountId: account }),
    render: renderAutoTopup,
  }),
  command({
    name: 'auto-topup remove',
    summary: 'End the automatic top-ups of an account, and forget its card',
    parameters: { account },
    examples: ['auto-topup remove --account acme'],
    endpoint: autoTopupRemove,
    request: ({ account }) => ({ accountId: account }),
    render: renderAutoTopup,
  }),
];

function renderAutoTopup({ accountId, rule, card, monthPicoUsd, pausedBy }: AutoTopup): string {
  return renderFields({
    account: accountId,
    ...(rule
      ? {
          'top-up': `${renderMoney(rule.amountPicoUsd)} below ${renderMoney(rule.thresholdPicoUsd)}`,
          'monthly cap': renderMoney(rule.monthlyCapPicoUsd),
        }
      : { 'top-up': 'none' }),
    'this month': renderMoney(monthPicoUsd),
    card: card
      ? `${card.brand ?? 'card'} ${card.last4 ? `… ${card.last4}` : ''}, stored ${card.savedAt}`
      : 'none: tollgate checkout --save-card',
    ...(pausedBy !== null && { paused: `${pausedBy}: set the rule again, or store another card` }),
  });
}
