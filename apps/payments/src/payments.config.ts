import { IsInt, IsString, Matches, Max, Min, MinLength } from 'class-validator';
import { IsPostgresUrl } from '#database/postgres-url.js';
import { ForwardProxyConfig } from '#network/forward-proxy/forward-proxy.config.js';

const ORIGIN = /^https:\/\/[^/?#@\s]+$|^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;
const ORIGIN_RULE = { message: 'must be an origin such as https://panel.example.com; http only for localhost, 127.0.0.1 and [::1]' };

/** Settings of the payments service. Each is read from the environment variable of its name: `paymentsPort` from `PAYMENTS_PORT`. */
export class PaymentsConfig extends ForwardProxyConfig {
  @IsPostgresUrl() databaseUrl = '';
  /** Port of the webhook, which Stripe reaches through your proxy with TLS. */
  @IsInt() @Min(0) @Max(65535) paymentsPort = 8082;
  @IsString() @MinLength(1) paymentsHost = '127.0.0.1';
  /** Secret key of Stripe's API, or a restricted one. */
  @Matches(/^[sr]k_\w+$/, { message: 'must be a secret key of Stripe (sk_…) or a restricted one (rk_…)' }) stripeSecretKey = '';
  /** Signing secret of the webhook. While it is replaced: both, separated by a comma. */
  @Matches(/^whsec_\w+(,whsec_\w+)*$/, { message: 'must be a signing secret of a webhook (whsec_…), or several separated by commas' })
  stripeWebhookSecret = '';
  /** Address of Stripe's API. */
  @Matches(ORIGIN, { message: 'must be an origin; http only for localhost, 127.0.0.1 and [::1]' }) stripeApiUrl = 'https://api.stripe.com';
  /** Origin of the panel, to which a checkout leads back. */
  @Matches(ORIGIN, ORIGIN_RULE) panelUrl = 'http://127.0.0.1:8081';
  /** The least and the most dollars of one checkout. */
  @IsInt() @Min(1) @Max(999_999) checkoutUsdMin = 1;
  @IsInt() @Min(1) @Max(999_999) checkoutUsdMax = 10_000;
  /** Milliseconds between rounds of automatic top-ups. */
  @IsInt() @Min(10) @Max(3_600_000) autoTopupIntervalMs = 15_000;
}
