import { GatewayError } from '#inference/errors.js';
import { parsePicoUsd } from '#money/pico-usd.js';
import type { BillingClient } from '../../clients/billing.js';
import type { CatalogClient } from '../../clients/catalog.js';
import type { Exchange } from '../http-exchange.js';
import type { RequestRates } from './request-rates.js';

/** Refuses the generation requests of accounts with nothing available by their headers, so that their bodies cost nothing. */
export class EmptyAccounts {
  constructor(
    private readonly billing: BillingClient,
    private readonly catalog: CatalogClient,
    private readonly rates: RequestRates,
  ) {}

  /** True when the account had nothing available at last notice, and no model is free. Costs one look-up. */
  isSuspected({ caller }: Exchange): boolean {
    return caller !== undefined && this.billing.hadNothing(caller.accountId) && !this.catalog.hasFreeModel;
  }

  /** Throws `insufficient_balance` if a balance read now confirms the suspicion. A top-up acknowledged before is in that balance. */
  async check(exchange: Exchange): Promise<void> {
    await this.rates.countFree(exchange);
    const { available_pico_usd } = await this.billing.balance(exchange.caller?.accountId ?? '');
    if (parsePicoUsd(available_pico_usd) > 0n) return;
    throw new GatewayError(
      'insufficient_balance',
      'Nothing of the balance is available. Top up, or wait for running requests to return what they hold.',
    );
  }
}
