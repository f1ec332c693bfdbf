/** Prices of one token, in pico-dollars (10^-12 USD). */
export interface PriceList {
  inputPicoUsd: bigint;
  cachedInputPicoUsd: bigint;
  outputPicoUsd: bigint;
}

/** Tokens as an upstream counts them. `cached` is part of `prompt`, `reasoning` part of `output`. */
export interface Usage {
  prompt: number;
  cached: number;
  output: number;
  reasoning: number;
}

/** Six decimals of a dollar per million tokens, with a last digit that no rounding to micro-dollars keeps. */
export const PRICES: PriceList = { inputPicoUsd: 1_370_001n, cachedInputPicoUsd: 137_003n, outputPicoUsd: 4_110_007n };
/** The prices after a change. */
export const CHANGED_PRICES: PriceList = { inputPicoUsd: 2_740_009n, cachedInputPicoUsd: 274_003n, outputPicoUsd: 8_220_011n };

/** The scripted model counts one token for each four bytes of text, of the prompt and of the output. */
export const BYTES_PER_TOKEN = 4;
/** An upstream that has not answered for so long has begun to work on the prompt, and bills it. */
export const BEGUN_AFTER_MS = 1_000;

export function priceUsage({ prompt, cached, output }: Pick<Usage, 'prompt' | 'cached' | 'output'>, prices: PriceList): bigint {
  const { inputPicoUsd, cachedInputPicoUsd, outputPicoUsd } = prices;
  return BigInt(prompt - cached) * inputPicoUsd + BigInt(cached) * cachedInputPicoUsd + BigInt(output) * outputPicoUsd;
}

/** Dollars per million tokens, for price lists that are written so: 1370001 pico-dollars a token are "1.370001". */
export function perMillionTokens(picoUsd: bigint): string {
  return `${picoUsd / 1_000_000n}.${String(picoUsd % 1_000_000n).padStart(6, '0')}`;
}

/** Dollars with all twelve decimals that are not zero, as "0.000137". */
export function dollars(picoUsd: bigint): string {
  const sign = picoUsd < 0n ? '-' : '';
  const absolute = picoUsd < 0n ? -picoUsd : picoUsd;
  const decimals = String(absolute % 1_000_000_000_000n)
    .padStart(12, '0')
    .replace(/0+$/, '')
    .padEnd(2, '0');
  return `${sign}${absolute / 1_000_000_000_000n}.${decimals}`;
}

/** Facts of one call of the upstream, from which its charge follows. */
export interface CallFacts {
  isStream: boolean;
  /** It has answered 200, or worked for `BEGUN_AFTER_MS`. */
  hasBegun: boolean;
  isRefused: boolean;
  /** The finish and the usage, if the script has one, have been written. */
  isComplete: boolean;
  /** The gateway closed the connection. */
  wasLeft: boolean;
  outputServed: number;
}

/**
 * The charge of one call: the terms of the README. `blame` is who caused a call that was left: a client that leaves pays for the prompt,
 * a gateway that dies before any content has nothing to charge.
 */
export function owedFor(facts: CallFacts, truth: Usage, prices: PriceList, blame: 'client' | 'product'): bigint {
  if (facts.isRefused) return 0n;
  if (facts.isComplete) return priceUsage(truth, prices);
  const output = facts.isStream ? facts.outputServed : 0;
  const whatCame = priceUsage({ prompt: truth.prompt, cached: truth.cached, output }, prices);
  if (output > 0) return whatCame;
  return facts.wasLeft && blame === 'client' && facts.hasBegun ? whatCame : 0n;
}
