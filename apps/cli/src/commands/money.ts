import { planGrant, topupCreate } from '#contracts/billing/money.js';
import { command } from '../command.js';
import { id, instant, optional, required, text, usd } from '../parameters.js';
import { renderFields, renderMoney } from '../render.js';

export const moneyCommands = [
  command({
    name: 'topup',
    summary: 'Credit a payment to an account; the same payment id is credited once',
    parameters: {
      account: required(id, 'whose'),
      usd: required(usd, 'how much'),
      paymentId: required(text(200), "the payment's own id, so that repeating the command is safe"),
    },
    examples: ['topup --account <account-id> --usd 25 --payment-id inv-1001'],
    endpoint: topupCreate,
    request: ({ account, usd, paymentId }) => ({ accountId: account, usd, paymentId }),
    render: ({ accountId, credited, topupBalancePicoUsd }) =>
      renderFields({
        account: accountId,
        credited: credited ? 'yes' : 'no, this payment was credited before',
        'top-up balance': renderMoney(topupBalancePicoUsd),
      }),
  }),
  command({
    name: 'plan grant',
    summary: "Replace an account's plan balance by a new grant",
    parameters: {
      account: required(id, 'whose'),
      usd: required(usd, 'how much'),
      expires: required(instant, 'when what is left of it ends'),
      grantKey: optional(text(200), 'names the grant, so that repeating the command is safe'),
    },
    examples: [
      'plan grant --account <account-id> --usd 100 --expires 2027-02-01',
      'plan grant --account <account-id> --usd 100 --expires 2027-02-01T00:00:00Z --grant-key acme-2027-01',
    ],
    endpoint: planGrant,
    request: ({ account, usd, expires, grantKey }) => ({ accountId: account, usd, expiresAt: expires, grantKey }),
    render: ({ accountId, grantId, granted, planBalancePicoUsd, expiresAt }) =>
      renderFields({
        account: accountId,
        grant: grantId,
        granted: granted ? 'yes' : 'no, this grant was made before',
        'plan balance': renderMoney(planBalancePicoUsd),
        expires: expiresAt,
      }),
  }),
];
