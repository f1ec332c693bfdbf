import { adjustmentCreate, creditNoteCreate, planGrant, refundCreate, topupCreate } from '#contracts/billing/money.js';
import { MOVEMENT_KINDS, movementList } from '#contracts/billing/movements.js';
import { PLAN_PERIODS, type PlanSubscription, planCancel, planShow, planSubscribe } from '#contracts/billing/plans.js';
import { command } from '../command.js';
import { account, cursor, instant, oneOf, optional, required, signedUsd, someOf, text, usd, wholeNumber } from '../parameters.js';
import { morePages, renderDollars, renderFields, renderMoney, renderTable } from '../render.js';
import { readStart, TIME_FILTER } from '../time-range.js';
import { UsageError } from '../usage-error.js';

export const moneyCommands = [
  command({
    name: 'topup',
    summary: 'Credit a payment to an account, once for each payment id',
    parameters: {
      account,
      usd: required(usd, 'amount'),
      paymentId: required(text(200), 'idempotency key: a payment is credited once'),
    },
    examples: ['topup --account acme --usd 25 --payment-id inv-1001'],
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
    name: 'refund',
    summary: 'Refund a top-up, in whole or in part, once for each refund id',
    parameters: {
      account,
      refundId: required(text(200), 'idempotency key: a refund is made once'),
      paymentId: optional(text(200), 'the top-up to refund; default: all top-ups of the account together'),
      usd: optional(usd, 'amount; default: the part of the payment that was not refunded yet'),
      reason: optional(text(500), 'for the statement of account'),
    },
    examples: [
      'refund --account acme --refund-id ref-1001 --payment-id inv-1001',
      'refund --account acme --refund-id ref-1002 --payment-id inv-1001 --usd 5 --reason "half a month"',
    ],
    endpoint: refundCreate,
    request: ({ account, refundId, paymentId, usd, reason }) => {
      if (!paymentId && !usd) throw new UsageError('give --payment-id, --usd, or both');
      return { accountId: account, refundId, paymentId, usd, reason };
    },
    render: ({ accountId, refunded, amountPicoUsd, topupBalancePicoUsd }) =>
      renderFields({
        account: accountId,
        refunded: refunded ? renderMoney(amountPicoUsd) : `no, this refund of ${renderDollars(amountPicoUsd)} was made before`,
        'top-up balance': renderMoney(topupBalancePicoUsd),
      }),
  }),
  command({
    name: 'adjust',
    summary: 'Correct the top-up balance, up or down, once for each adjustment id',
    parameters: {
      account,
      adjustmentId: required(text(200), 'idempotency key: an adjustment is made once'),
      usd: required(signedUsd, 'amount; --usd=-2.50 debits the balance'),
      reason: required(text(500), 'for the statement of account'),
    },
    examples: [
      'adjust --account acme --adjustment-id adj-1 --usd 2.50 --reason "goodwill"',
      'adjust --account acme --adjustment-id adj-2 --usd=-2.50 --reason "credited twice"',
    ],
    endpoint: adjustmentCreate,
    request: ({ account, adjustmentId, usd, reason }) => ({ accountId: account, adjustmentId, usd, reason }),
    render: ({ accountId, adjusted, topupBalancePicoUsd }) =>
      renderFields({
        account: accountId,
        adjusted: adjusted ? 'yes' : 'no, this adjustment was made before',
        'top-up balance': renderMoney(topupBalancePicoUsd),
      }),
  }),
  command({
    name: 'credit-note',
    summary: 'Give back the cost of a settled request, in whole or in part, once for each note id',
    parameters: {
      request: required(text(128), 'id of the request'),
      noteId: required(text(200), 'idempotency key: a credit note is made once'),
      usd: optional(usd, 'amount; default: the part of the cost that was not given back yet'),
      reason: required(text(500), 'for the statement of account'),
    },
    examples: [
      'credit-note --request <request-id> --note-id cn-17 --reason "the reply was useless"',
      'credit-note --request <request-id> --note-id cn-18 --usd 0.01 --reason "slow"',
    ],
    endpoint: creditNoteCreate,
    request: ({ request, noteId, usd, reason }) => ({ requestId: request, noteId, usd, reason }),
    render: ({ accountId, credited, amountPicoUsd, topupBalancePicoUsd }) =>
      renderFields({
        account: accountId,
        credited: credited ? renderMoney(amountPicoUsd) : `no, this credit note of ${renderDollars(amountPicoUsd)} was made before`,
        'top-up balance': renderMoney(topupBalancePicoUsd),
      }),
  }),
  command({
    name: 'movements list',
    summary: 'Show the statement of an account, newest first: every movement of money except requests',
    parameters: {
      account,
      ...TIME_FILTER,
      kinds: optional(someOf(MOVEMENT_KINDS, 'kinds'), `only these kinds, separated by commas: ${MOVEMENT_KINDS.join(', ')}`),
      limit: optional(wholeNumber(1, 200), 'movements on a page; default 100'),
      cursor,
    },
    examples: ['movements list --account acme', 'movements list --account acme --from 2027-01-01 --kinds topup,refund'],
    endpoint: movementList,
    request: ({ account, from, since, ...rest }) => ({ accountId: account, from: readStart({ from, since }), ...rest }),
    render: ({ movements, nextCursor }, _, request) =>
      renderTable(movements, 'no movements', {
        AT: (row) => row.createdAt,
        KIND: (row) => row.kind,
        AMOUNT: (row) => renderDollars(row.amountPicoUsd),
        REFERENCE: (row) => row.reference,
        REASON: (row) => row.reason,
        MOVEMENT: (row) => row.movementId,
      }) + morePages(nextCursor, request),
  }),
  command({
    name: 'plan grant',
    summary: "Replace an account's plan balance by a new grant",
    parameters: {
      account,
      usd: required(usd, 'amount'),
      expires: required(instant, 'time at which the rest of the grant expires'),
      grantKey: optional(text(200), 'idempotency key: a grant is made once'),
    },
    examples: [
      'plan grant --account acme --usd 100 --expires 2027-02-01',
      'plan grant --account acme --usd 100 --expires 2027-02-01T00:00:00Z --grant-key acme-2027-01',
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
  command({
    name: 'plan subscribe',
    summary: 'Grant a plan in each period, or change it from the next period on',
    parameters: {
      account,
      usd: required(usd, 'amount of each grant; what is left of the grant before is forfeited'),
      period: required(oneOf(PLAN_PERIODS, 'period'), `${PLAN_PERIODS.join(', ')}; weeks begin on Monday`),
      starts: optional(instant, 'time of the next grant; default: now, or the next period of a subscription that is changed'),
      timeZone: optional(text(64, 'zone'), 'time zone in which the period begins, such as Europe/Berlin; default UTC'),
    },
    examples: [
      'plan subscribe --account acme --usd 20 --period month',
      'plan subscribe --account acme --usd 20 --period month --starts 2027-01-01 --time-zone Europe/Berlin',
    ],
    endpoint: planSubscribe,
    request: ({ account, usd, period, starts, timeZone }) => ({ accountId: account, usd, period, startsAt: starts, timeZone }),
    render: (subscription) => renderFields(subscriptionFields(subscription)),
  }),
  command({
    name: 'plan show',
    summary: 'Show the plan subscription of an account and its plan balance',
    parameters: { account },
    examples: ['plan show --account acme'],
    endpoint: planShow,
    request: ({ account }) => ({ accountId: account }),
    render: ({ accountId, subscription, planBalancePicoUsd, expiresAt }) =>
      renderFields({
        ...(subscription ? subscriptionFields(subscription) : { account: accountId, subscription: 'none' }),
        'plan balance': renderMoney(planBalancePicoUsd),
        expires: expiresAt,
      }),
  }),
  command({
    name: 'plan cancel',
    summary: 'End the plan subscription of an account; the current grant lasts to its end',
    parameters: { account },
    examples: ['plan cancel --account acme'],
    endpoint: planCancel,
    request: ({ account }) => ({ accountId: account }),
    render: ({ accountId, subscriptionId }) => renderFields({ account: accountId, cancelled: subscriptionId }),
  }),
];

function subscriptionFields(subscription: PlanSubscription): Record<string, string> {
  const { accountId, subscriptionId, amountPicoUsd, period, timeZone, nextGrantAt } = subscription;
  return {
    account: accountId,
    subscription: subscriptionId,
    grant: `${renderMoney(amountPicoUsd)} each ${period}, ${timeZone}`,
    'next grant': nextGrantAt,
  };
}
