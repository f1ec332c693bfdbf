import { IsIn, IsInt, IsOptional, Matches, Max, Min } from 'class-validator';
import { TIER } from '#inference/usage.js';
import { USD_EACH, USD_PER_MILLION } from '#money/price.js';
import { NestedList, PRICE } from './billing/fields.js';
import { TOKENS_MAX } from './rules/bounds.js';
import { PRICE_STEPS_MAX } from './rules/price-rules.js';

/** Tokens that the prices of a step are for. */
const REPRICES = ['whole', 'excess'] as const;
type Reprices = (typeof REPRICES)[number];

/** Other prices for requests with a larger prompt, in pico-USD per token as integer strings. */
export class PriceStep {
  /** A prompt of more tokens, those of the cache included, reaches the step. */
  @IsInt() @Min(1) @Max(TOKENS_MAX) above!: number;
  /** `whole`: all tokens of the request have these prices. `excess`: the tokens of its prompt after `above`. */
  @IsIn(REPRICES) reprices!: Reprices;
  @Matches(PRICE) inputPicoUsd!: string;
  @Matches(PRICE) cachedInputPicoUsd!: string;
  /** Absent: `inputPicoUsd`. */
  @IsOptional() @Matches(PRICE) cacheWritePicoUsd?: string;
  /** Absent: `cacheWritePicoUsd`. */
  @IsOptional() @Matches(PRICE) cacheWrite1hPicoUsd?: string;
  /** Only of a step for the whole request. Absent: as without the step. */
  @IsOptional() @Matches(PRICE) outputPicoUsd?: string;
}

/** Prices of requests that the upstream says it served in a tier, in pico-USD per token as integer strings. */
export class PriceTier {
  @Matches(TIER) tier!: string;
  @Matches(PRICE) inputPicoUsd!: string;
  @Matches(PRICE) cachedInputPicoUsd!: string;
  /** Absent: `inputPicoUsd`. */
  @IsOptional() @Matches(PRICE) cacheWritePicoUsd?: string;
  /** Absent: `cacheWritePicoUsd`. */
  @IsOptional() @Matches(PRICE) cacheWrite1hPicoUsd?: string;
  @Matches(PRICE) outputPicoUsd!: string;
  /** By ascending `above`. Absent: none, also where the usual prices have some. */
  @IsOptional() @NestedList(() => PriceStep, PRICE_STEPS_MAX) steps?: PriceStep[];
}

/** Price of an image with more bytes than `aboveBytes`, up to the next step. */
export class ImageStep {
  @IsInt() @Min(1) @Max(TOKENS_MAX) aboveBytes!: number;
  @Matches(PRICE) imagePicoUsd!: string;
  /** Images of the request in this class. Absent: none, or the price is no hold's. */
  @IsOptional() @IsInt() @Min(1) @Max(TOKENS_MAX) images?: number;
}

/** As `PriceStep`, in USD per million tokens. */
export class ListStep {
  @IsInt() @Min(1) @Max(TOKENS_MAX) above!: number;
  /** Default `whole`. */
  @IsOptional() @IsIn(REPRICES) reprices?: Reprices;
  @Matches(USD_PER_MILLION) inputUsdPerMTok!: string;
  @Matches(USD_PER_MILLION) cachedInputUsdPerMTok!: string;
  /** Default: `inputUsdPerMTok`. */
  @IsOptional() @Matches(USD_PER_MILLION) cacheWriteUsdPerMTok?: string;
  /** Default: `cacheWriteUsdPerMTok`. */
  @IsOptional() @Matches(USD_PER_MILLION) cacheWrite1hUsdPerMTok?: string;
  /** Only of a step for the whole request. Default: as without the step. */
  @IsOptional() @Matches(USD_PER_MILLION) outputUsdPerMTok?: string;
}

/** As `PriceTier`, in USD per million tokens. */
export class ListTier {
  @Matches(TIER) tier!: string;
  @Matches(USD_PER_MILLION) inputUsdPerMTok!: string;
  @Matches(USD_PER_MILLION) cachedInputUsdPerMTok!: string;
  /** Default: `inputUsdPerMTok`. */
  @IsOptional() @Matches(USD_PER_MILLION) cacheWriteUsdPerMTok?: string;
  /** Default: `cacheWriteUsdPerMTok`. */
  @IsOptional() @Matches(USD_PER_MILLION) cacheWrite1hUsdPerMTok?: string;
  @Matches(USD_PER_MILLION) outputUsdPerMTok!: string;
  @IsOptional() @NestedList(() => ListStep, PRICE_STEPS_MAX) steps?: ListStep[];
}

/** As `ImageStep`, in USD. */
export class ListImageStep {
  @IsInt() @Min(1) @Max(TOKENS_MAX) aboveBytes!: number;
  @Matches(USD_EACH) imageUsd!: string;
}
