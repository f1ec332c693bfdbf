import { IsBoolean, IsOptional } from 'class-validator';
import { Id, Usd } from './billing/fields.js';
import { Endpoint } from './endpoint.js';

export class CheckoutCreateRequest {
  @Id() accountId!: string;
  /** Whole cents, from `CHECKOUT_USD_MIN` to `CHECKOUT_USD_MAX` of the service. */
  @Usd() usd!: string;
  /** Stores the card for automatic top-ups. */
  @IsOptional() @IsBoolean() saveCard?: boolean;
}

export interface CheckoutCreateReply {
  accountId: string;
  amountPicoUsd: string;
  /** Page of Stripe on which the amount is paid. Whoever has it can pay, and see the amount. */
  url: string;
  /** Time at which the page ends, unpaid. */
  expiresAt: string;
}

/** Moves no money by itself: what is paid becomes a top-up, which billing records. */
export const checkoutCreate = new Endpoint<CheckoutCreateRequest, CheckoutCreateReply>(
  'payments.v1.checkout.create',
  CheckoutCreateRequest,
  {
    about: 'Opens a page of Stripe on which an amount is paid that becomes a top-up of the account',
  },
);

export class AutoTopupSetRequest {
  @Id() accountId!: string;
  /** A top-up is made when less than this is available. */
  @Usd() thresholdUsd!: string;
  /** Amount of one top-up, in whole cents. */
  @Usd() amountUsd!: string;
  /** The most of all automatic top-ups in a month (UTC), in whole cents. It is never exceeded. */
  @Usd() monthlyCapUsd!: string;
}

export interface AutoTopupRule {
  thresholdPicoUsd: string;
  amountPicoUsd: string;
  monthlyCapPicoUsd: string;
}

export interface AutoTopup {
  accountId: string;
  /** Null: nothing is paid without a person. */
  rule: AutoTopupRule | null;
  /** Null: no card is stored, so that nothing can be paid. */
  card: { brand: string | null; last4: string | null; savedAt: string } | null;
  /** Counts against the cap: what was paid this month (UTC), and what Stripe may still take. */
  monthPicoUsd: string;
  /** Reason for which Stripe refused the last charge: there is no other until the rule is set again or another card is stored. */
  pausedBy: string | null;
}

export const autoTopupSet = new Endpoint<AutoTopupSetRequest, AutoTopup>('payments.v1.auto-topup.set', AutoTopupSetRequest, {
  about: 'Tops an account up with its stored card when its balance is low, up to a monthly cap',
  isRecorded: true,
});

export class AutoTopupRequest {
  @Id() accountId!: string;
}

export const autoTopupRemove = new Endpoint<AutoTopupRequest, AutoTopup>('payments.v1.auto-topup.remove', AutoTopupRequest, {
  about: 'Ends automatic top-ups of an account, and forgets its card',
  isRecorded: true,
});

export const autoTopupShow = new Endpoint<AutoTopupRequest, AutoTopup>('payments.v1.auto-topup.show', AutoTopupRequest, {
  about: 'The rule, the stored card and the sum of this month of automatic top-ups',
});
