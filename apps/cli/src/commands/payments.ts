import { checkoutCreate } from '#contracts/payments.js';
import { command } from '../command.js';
import { account, required, usd } from '../parameters.js';
import { renderFields, renderMoney } from '../render.js';

export const paymentCommands = [
  command({
    name: 'checkout',
    summary: 'Open a page of Stripe on which an amount is paid by card; what is paid becomes a top-up',
    parameters: { account, usd: required(usd, 'amount, in whole cents') },
    examples: ['checkout --account acme --usd 25'],
    endpoint: checkoutCreate,
    request: ({ account, usd }) => ({ accountId: account, usd }),
    render: ({ accountId, amountPicoUsd, url, expiresAt }) =>
      renderFields({ account: accountId, amount: renderMoney(amountPicoUsd), page: url, 'ends at': expiresAt }),
  }),
];
