import type { PromptPrices } from '#money/price.js';
import { Literal, scaleExactly } from './exact-json.js';

/** A model of a public price list. */
export interface ListEntry {
  /** Name in the list, with its provider where the list has it: `openrouter/qwen/qwen3-8b`. */
  key: string;
  provider: string;
  read(): ListedPrice;
}

/** A price of a public list, as far as a price of the catalog can express it. */
export interface ListedPrice {
  amounts: ListedAmount[];
  /** Fields about costs that are not among the amounts, with their values. */
  others: string[];
}

/** An amount of a list in pico-USD. */
export interface ListedAmount {
  of: keyof PromptPrices | 'outputPicoUsd' | 'requestPicoUsd';
  /** Tokens of a prompt above which it is the price of the whole request. Absent: at any size. */
  above?: number;
  /** Absent: the usual tier. */
  tier?: string;
  picoUsd: bigint;
}

/** Above the most that a catalog file can name, in pico-USD a token or a request. */
const AMOUNT_END = { perToken: 10n ** 13n, each: 10n ** 18n };

/** Sorts the fields of an entry: amounts that the catalog can express exactly, and the others. */
export class PriceReader {
  private readonly amounts: ListedAmount[] = [];
  private readonly others: string[] = [];

  /** Takes a value in units of 10^`exponent` pico-USD. */
  take(field: string, value: unknown, exponent: number, place: Omit<ListedAmount, 'picoUsd'>): void {
    const picoUsd = value instanceof Literal ? scaleExactly(value, exponent) : undefined;
    const end = place.of === 'requestPicoUsd' ? AMOUNT_END.each : AMOUNT_END.perToken;
    if (picoUsd === undefined || picoUsd >= end) this.leave(`${field} (no whole number of pico-dollars within a price)`, value);
    else this.amounts.push({ ...place, picoUsd });
  }

  leave(field: string, value: unknown): void {
    this.others.push(`${field}: ${value instanceof Literal ? value.digits : JSON.stringify(value, digitsAlone)}`);
  }

  price(): ListedPrice {
    return { amounts: this.amounts, others: this.others };
  }
}

function digitsAlone(_key: string, value: unknown): unknown {
  return value instanceof Literal ? value.digits : value;
}

export function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Literal);
}

/** True for a number of zero, and for none: such a field says nothing. */
export function isNothing(value: unknown): boolean {
  return value === null || value === undefined || (value instanceof Literal && scaleExactly(value, 40) === 0n);
}
