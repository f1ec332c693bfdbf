import { GatewayError } from '#inference/errors.js';
import { parsePicoUsd } from '#money/pico-usd.js';
import type { BillingClient } from '../../clients/billing.js';
import type { CatalogClient } from '../../clients/catalog.js';
import type { HttpExchange } from '../http-exchange.js';
import type { RequestRates } from './request-rates.js';

/** Refuses generation requests of accounts with nothing available before their body is read. */
export class EmptyAccounts {
  constructor(
    private readonly billing: BillingClient,
    private readonly catalog: CatalogClient,
    private readonly rates: RequestRates,
  ) {}

  /** True when the account had nothing available at the last report and no model is free for it. Costs one map look-up. */
  mayBeEmpty({ caller }: HttpExchange): boolean {
    return caller !== undefined && this.billing.wasEmpty(caller.accountId) && !this.catalog.hasFreeModel(caller);
  }

  /** Reads the balance, which includes all acknowledged top-ups. Throws `insufficient_balance` when nothing is available. */
  async check(exchange: HttpExchange): Promise<void> {
    await this.rates.countFree(exchange);
    const { available_pico_usd } = await this.billing.balance(exchange.caller?.accountId ?? '');
    if (parsePicoUsd(available_pico_usd) > 0n) return;
    throw new GatewayError(
      'insufficient_balance',
      'Nothing of the balance is available. Top up, or wait for running requests to return what they hold.',
    );
  }
}
