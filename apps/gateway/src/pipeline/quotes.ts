import { createHash } from 'node:crypto';
import type { PinnedPrice } from '#contracts/billing/holds.js';
import { QUOTE_KEY_MS } from '#contracts/billing/quotes.js';
import { GatewayError } from '#inference/errors.js';
import { type PicoUsd, parsePicoUsd, picoUsd } from '#money/pico-usd.js';
import { holdFor } from '#money/price.js';
import { parsePrice } from '#money/price-plan.js';
import type { Model } from '../clients/catalog.js';
import type { QuoteKeys } from '../clients/quote-keys.js';
import type { Quote } from './quote.js';
import { openQuote, parseQuote, type QuoteTerms, SIGNED_QUOTE_MAX, signQuote } from './signed-quote.js';

/** Request header with a quote that an estimate has signed. */
export const QUOTE_HEADER = 'x-tollgate-quote';
/** Milliseconds for which a quote is valid. */
const QUOTE_MS = 300_000;

/** The request that a quote was made for, or is sent with. */
type QuotedRequest = Pick<QuoteTerms, 'accountId' | 'format' | 'model' | 'bodyDigest'>;

/** Terms that a quote promises. */
export interface Promised {
  price: PinnedPrice;
  amount: PicoUsd;
  outputTokensMax: number;
}

/** Signs what a request can cost at most, and checks what clients send back. Nothing is stored: any gateway reads the quote of any other. */
export class Quotes {
  constructor(private readonly keys: Pick<QuoteKeys, 'get'>) {}

  /** Throws `invalid_request` for a price with more rules than a header can hold. */
  async sign(
    request: QuotedRequest,
    { amount, outputTokensMax }: Quote,
    { pinnedPrice: price }: Model,
  ): Promise<{ quote: string; expiresAt: number }> {
    const now = Date.now();
    const keyNumber = Math.floor(now / QUOTE_KEY_MS);
    const key = await this.keys.get(keyNumber);
    if (!key) throw new GatewayError('model_unavailable', 'Quotes cannot be signed now. Try again.', { retryAfterSeconds: 1 });
    const expiresAt = now + QUOTE_MS;
    const quote = signQuote({ ...request, price, amountPicoUsd: String(amount), outputTokensMax, expiresAt }, keyNumber, key);
    if (quote.length <= SIGNED_QUOTE_MAX) return { quote, expiresAt };
    throw new GatewayError('invalid_request', 'The price of the model has too many rules for a quote.', { param: 'quote' });
  }

  /** Throws `invalid_request` for a quote that is changed, old, or for another request. */
  async check(text: string, request: QuotedRequest): Promise<Promised> {
    const sent = parseQuote(text);
    const key = sent && (await this.keys.get(sent.keyNumber));
    const terms = sent && key && openQuote(sent, key);
    // The key of a quote that is more than an hour old is gone, so it cannot be told from a changed one.
    if (!terms) throw refused('is not valid: it is changed, or too old. Ask for a new one');
    if (terms.accountId !== request.accountId) throw refused('is for another account');
    if (terms.expiresAt <= Date.now()) throw refused(`was valid until ${new Date(terms.expiresAt).toISOString()}. Ask for a new one`);
    if (terms.format !== request.format) throw refused('is for another endpoint');
    if (terms.model !== request.model) throw refused(`is for the model ${JSON.stringify(terms.model)}`);
    if (terms.bodyDigest !== request.bodyDigest) throw refused('is for another body: send the same bytes that were estimated');
    return { price: terms.price, amount: parsePicoUsd(terms.amountPicoUsd), outputTokensMax: terms.outputTokensMax };
  }
}

/** SHA-256 of a body. Call it before the body is parsed, which may move its bytes to another thread. */
export function digestBody(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url');
}

/** Returns the model at the price of a quote. */
export function atQuotedPrice(model: Model, promised: Promised | undefined): Model {
  return promised === undefined ? model : { ...model, price: parsePrice(promised.price), pinnedPrice: promised.price };
}

/**
 * Returns a quote of at most what was promised. The same body has the same bounds, unless the catalog has changed the limits of its model:
 * then the lower ones count. The amount is what the request holds, so no settlement exceeds it.
 */
export function withinPromise(quote: Quote, promised: Promised | undefined): Quote {
  if (promised === undefined) return quote;
  const outputTokensMax = Math.min(quote.outputTokensMax, promised.outputTokensMax);
  const amount = holdFor({ promptTokensMax: quote.promptTokensMax, outputTokensMax }, quote.price);
  return { ...quote, outputTokensMax, amount: picoUsd(amount < promised.amount ? amount : promised.amount) };
}

function refused(why: string): GatewayError {
  return new GatewayError('invalid_request', `\`${QUOTE_HEADER}\` ${why}.`, { param: QUOTE_HEADER });
}
