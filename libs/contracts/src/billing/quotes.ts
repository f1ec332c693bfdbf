import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { Endpoint } from '../endpoint.js';

/** Milliseconds for which one key signs quotes: its number is the time in these since 1970. */
export const QUOTE_KEY_MS = 3_600_000;

export class QuoteKeyRequest {
  /** Number of the key. Only the present one and its neighbours exist. Default: the present one. */
  @IsOptional() @IsInt() @Min(0) @Max(2 ** 31 - 1) number?: number;
}

export interface QuoteKeyReply {
  /** 32 bytes in base64. */
  key: string;
}

/** Each gateway asks once an hour, from its first quote on. Replies `not_found` for the key of another time. */
export const quoteKey = new Endpoint<QuoteKeyRequest, QuoteKeyReply>('billing.v1.quote.key', QuoteKeyRequest, {
  about: 'The key that gateways sign quotes with in one hour',
  isRepeatable: true,
});
