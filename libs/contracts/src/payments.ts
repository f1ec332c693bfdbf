import { Id, Usd } from './billing/fields.js';
import { Endpoint } from './endpoint.js';

export class CheckoutCreateRequest {
  @Id() accountId!: string;
  /** Whole cents, from `CHECKOUT_USD_MIN` to `CHECKOUT_USD_MAX` of the service. */
  @Usd() usd!: string;
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
