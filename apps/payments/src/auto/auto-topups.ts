import { setTimeout as delay } from 'node:timers/promises';
import { balanceGet } from '#contracts/billing/money.js';
import type { Messaging } from '#messaging/messaging.js';
import type { Logger } from '#observability/logger.js';
import { describeStripeError } from '../stripe/stripe-client.js';
import type { Booking } from '../webhook/book-notice.js';
import { readIntent } from '../webhook/notice.js';
import { askFor, type ChargesAtStripe, giveUp, isUndecided, type OpenCharge } from './charge.js';
import type { ChargeStore, DueRule } from './charge-store.js';

interface Parts {
  store: ChargeStore;
  stripe: ChargesAtStripe;
  booking: Booking;
  billing: Pick<Messaging, 'request'>;
  logger: Logger;
}

/**
 * Tops accounts up with their stored card. Every replica makes rounds: the database gives each amount to one charge alone, before Stripe is
 * asked, and Stripe makes one payment of a charge, however often it is asked.
 */
export class AutoTopups {
  private readonly stopping = new AbortController();
  private rounds: Promise<void> | undefined;

  constructor(private readonly parts: Parts) {}

  start(intervalMs: number): void {
    this.rounds = this.repeat(intervalMs);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.rounds;
  }

  /** Ends what earlier rounds and other replicas began, then tops up accounts that are low. */
  async round(): Promise<void> {
    const { store } = this.parts;
    for (const charge of await store.listOpen()) await this.attempt('charge', charge.id, () => this.carryOn(charge));
    for (const rule of await store.listDue()) await this.attempt('account', rule.accountId, () => this.topUpIfLow(rule));
  }

  private async repeat(intervalMs: number): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.round().catch((error: unknown) => this.parts.logger.warn({ err: error }, 'automatic top-ups failed'));
      await delay(intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** One failure does not keep others from their turn. The next round tries again. */
  private async attempt(name: string, id: string, work: () => Promise<void>): Promise<void> {
    if (this.stopping.signal.aborted) return;
    await work().catch((error: unknown) =>
      this.parts.logger.warn({ [name]: id, ...describeStripeError(error) }, 'automatic top-up not done yet'),
    );
  }

  private async topUpIfLow({ accountId, thresholdPicoUsd }: DueRule): Promise<void> {
    const { billing, store } = this.parts;
    const balance = await billing.request(balanceGet, { accountId });
    if (BigInt(balance.available_pico_usd) >= thresholdPicoUsd) return;
    const charge = await store.reserve(accountId);
    if (charge) await this.carryOn(charge);
  }

  /** Brings a charge to its end, or one step further. Any step may be repeated. */
  private async carryOn(charge: OpenCharge): Promise<void> {
    const { store, stripe } = this.parts;
    const answer = await askFor(stripe, charge);
    if (answer.kind === 'none') return this.release(charge, answer.fault);
    await store.notePayment(charge.id, answer.payment.id);
    const payment = isUndecided(answer.payment) ? await giveUp(stripe, answer.payment.id) : answer.payment;
    // Booking it ends the charge. One that is processed, or could not be cancelled, waits for its event or the next round.
    if (payment.status === 'succeeded') await this.parts.booking.book(readIntent(payment));
    if (payment.status === 'canceled') await this.release(charge, answer.fault ?? answer.payment.status);
  }

  private async release(charge: OpenCharge, fault: string): Promise<void> {
    await this.parts.store.release(charge.id, fault);
    this.parts.logger.warn(
      { charge: charge.id, account: charge.accountId, fault },
      'automatic top-up refused: none until the rule is set again',
    );
  }
}
