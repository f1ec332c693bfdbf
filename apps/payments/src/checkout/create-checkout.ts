import type { Stripe } from 'stripe';
import { balanceGet } from '#contracts/billing/money.js';
import type { CheckoutCreateReply, CheckoutCreateRequest } from '#contracts/payments.js';
import { ServiceError } from '#contracts/service-error.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import type { ChargeStore } from '../auto/charge-store.js';
import type { PaymentsConfig } from '../payments.config.js';
import { centsToPico, usdToCents } from '../stripe/cents.js';
import { asServiceError, describeStripeError } from '../stripe/stripe-client.js';
import { ACCOUNT_FIELD, SAVE_CARD_FIELD } from '../webhook/notice.js';

/** Opens pages of Stripe on which an amount is paid. */
export class Checkouts {
  constructor(
    private readonly stripe: Pick<Stripe, 'checkout'>,
    private readonly billing: Pick<Messaging, 'request'>,
    private readonly cards: Pick<ChargeStore, 'findCustomer'>,
    private readonly config: Pick<PaymentsConfig, 'panelUrl' | 'checkoutUsdMin' | 'checkoutUsdMax'>,
    private readonly logger: Logger,
  ) {}

  /** @throws {ServiceError} `not_found` for an unknown account, `invalid_request` for an amount beyond the bounds, `unavailable` without Stripe. */
  async create({ accountId, usd, saveCard = false }: CheckoutCreateRequest): Promise<CheckoutCreateReply> {
    const cents = this.bounded(usdToCents(usd));
    await this.billing.request(balanceGet, { accountId });
    const metadata = { [ACCOUNT_FIELD]: accountId };
    const customer = saveCard ? await this.cards.findCustomer(accountId) : undefined;
    const page = `${this.config.panelUrl}/panel/a/${accountId}/money`;
    try {
      const { url, expires_at } = await this.stripe.checkout.sessions.create({
        mode: 'payment',
        line_items: [{ quantity: 1, price_data: { currency: 'usd', unit_amount: cents, product_data: { name: 'Tollgate top-up' } } }],
        metadata: { ...metadata, ...(saveCard && { [SAVE_CARD_FIELD]: 'yes' }) },
        payment_intent_data: { metadata, ...(saveCard && { setup_future_usage: 'off_session' }) },
        ...(saveCard && (customer === undefined ? { customer_creation: 'always' } : { customer })),
        success_url: `${page}?payment=done`,
        cancel_url: page,
      });
      if (!url) throw new ServiceError('unavailable', 'Stripe opened no page.');
      return { accountId, amountPicoUsd: String(centsToPico(cents)), url, expiresAt: new Date(expires_at * 1000).toISOString() };
    } catch (error) {
      this.logger.warn({ account: accountId, ...describeStripeError(error) }, 'no checkout: Stripe opened no page');
      throw asServiceError(error);
    }
  }

  private bounded(cents: number): number {
    const { checkoutUsdMin: least, checkoutUsdMax: most } = this.config;
    if (cents >= least * 100 && cents <= most * 100) return cents;
    throw new ServiceError('invalid_request', `The amount must be from $${least}.00 to $${most}.00.`, 'usd');
  }
}
