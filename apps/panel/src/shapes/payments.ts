import type { AutoTopup, AutoTopupSetRequest, CheckoutCreateReply, CheckoutCreateRequest } from '#contracts/payments.js';

/** `GET /accounts/{a}/card-payments`. */
export interface CardPayments {
  /** False: the service `payments` does not run, and the rest is null. */
  offered: boolean;
  autoTopup: AutoTopup | null;
}

/** `POST /accounts/{a}/checkouts`. Replies `CheckoutCreateReply`. */
export type CheckoutBody = Omit<CheckoutCreateRequest, 'accountId'>;

/** `PUT /accounts/{a}/auto-topup`. Replies `AutoTopup`, as `DELETE` does. */
export type AutoTopupBody = Omit<AutoTopupSetRequest, 'accountId'>;

export type { AutoTopup, CheckoutCreateReply };
