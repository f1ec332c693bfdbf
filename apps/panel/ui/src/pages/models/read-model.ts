import { TOKENS_MAX } from '#contracts/rules/bounds.js';
import { renderUsd } from '#money/pico-usd.js';
import { LIST_PRICE_DIGITS, USD_PER_MILLION } from '#money/price.js';
import { count, readCount, readUsd } from '../../format/numbers.js';
import type { NewModel } from './insert-model.js';

/** The amount read from a field, or why there is none. Neither for an empty field. */
type Read = ReturnType<typeof readUsd>;
type Digits = (typeof LIST_PRICE_DIGITS)[keyof typeof LIST_PRICE_DIGITS];

const ID = /^[A-Za-z0-9][A-Za-z0-9._:/@-]*$/;

/** The texts of the fields of the form. */
export interface ModelTexts {
  id: string;
  upstream: string;
  /** Empty: the id. */
  model: string;
  contextTokens: string;
  maxOutputTokens: string;
  /** May be empty. */
  defaultOutputTokens: string;
  inputUsdPerMTok: string;
  /** Empty: as input. */
  cachedInputUsdPerMTok: string;
  /** Empty: as input. */
  cacheWriteUsdPerMTok: string;
  outputUsdPerMTok: string;
}

export type TokenField = 'contextTokens' | 'maxOutputTokens' | 'defaultOutputTokens';
export type PriceField = 'inputUsdPerMTok' | 'cachedInputUsdPerMTok' | 'cacheWriteUsdPerMTok' | 'outputUsdPerMTok';

/** Reads a price of a list. */
export function readListPrice(text: string, digits: Digits): Read {
  const read = readUsd(text);
  const [whole = '', decimals = ''] = read.amount === undefined ? [] : renderUsd(read.amount).split('.');
  if (whole.length > digits.whole) return { fault: `A price has at most ${digits.whole} digits before the point.` };
  return decimals.length > digits.decimals ? { fault: `A price here has at most ${digits.decimals} decimals.` } : read;
}

/** Returns what is wrong with the id of a new model. `taken`: ids of the others. */
export function findIdFault(text: string, taken: readonly string[]): string | null {
  const id = text.trim();
  if (id === '') return null;
  if (!ID.test(id)) return 'Write letters, digits and ._:/@- with a letter or digit first.';
  return taken.includes(id) ? 'The file has a model of this id.' : null;
}

/** Reads the fields for tokens. A reply is no longer than the context, and the default output no longer than a reply. */
export function readTokens({
  contextTokens,
  maxOutputTokens,
  defaultOutputTokens,
}: Pick<ModelTexts, TokenField>): Record<TokenField, Read> {
  const context = readTokenCount(contextTokens);
  const longest = readTokenCount(maxOutputTokens, context.amount, 'the context');
  return {
    contextTokens: context,
    maxOutputTokens: longest,
    defaultOutputTokens: readTokenCount(defaultOutputTokens, longest.amount, 'the longest reply'),
  };
}

function readTokenCount(text: string, max?: bigint, name?: string): Read {
  const { amount, fault } = readCount(text);
  if (amount === undefined) return fault === undefined ? {} : { fault };
  if (amount < 1n || amount > BigInt(TOKENS_MAX)) return { fault: `Write a number from 1 to ${count(TOKENS_MAX)}.` };
  return max !== undefined && amount > max ? { fault: `It must not be above ${name}.` } : { amount };
}

export function readPrice(text: string): Read {
  return readListPrice(text, LIST_PRICE_DIGITS.perMillion);
}

/** Reads the whole form. Undefined while a field is wrong or missing. */
export function readModel(
  texts: ModelTexts,
  abilities: Pick<NewModel, 'takesImages' | 'reasons'>,
  taken: readonly string[],
): NewModel | undefined {
  const id = texts.id.trim();
  const tokens = readTokens(texts);
  const { contextTokens, maxOutputTokens, defaultOutputTokens } = tokens;
  const [input, cachedInput, cacheWrite, output] = [
    priceText(texts.inputUsdPerMTok),
    priceText(texts.cachedInputUsdPerMTok),
    priceText(texts.cacheWriteUsdPerMTok),
    priceText(texts.outputUsdPerMTok),
  ];
  const prices = [texts.inputUsdPerMTok, texts.cachedInputUsdPerMTok, texts.cacheWriteUsdPerMTok, texts.outputUsdPerMTok];
  const isFaulty = [...Object.values(tokens), ...prices.map(readPrice)].some(({ fault }) => fault !== undefined);
  if (!id || findIdFault(id, taken) || !texts.upstream || isFaulty) return undefined;
  if (contextTokens.amount === undefined || maxOutputTokens.amount === undefined || !input || !output) return undefined;
  return {
    ...{ id, upstream: texts.upstream, model: texts.model.trim() || id },
    ...{ contextTokens: contextTokens.amount, maxOutputTokens: maxOutputTokens.amount, defaultOutputTokens: defaultOutputTokens.amount },
    ...abilities,
    price: {
      inputUsdPerMTok: input,
      cachedInputUsdPerMTok: cachedInput ?? input,
      ...(cacheWrite && { cacheWriteUsdPerMTok: cacheWrite }),
      outputUsdPerMTok: output,
    },
  };
}

/** The decimals of a price as they were typed, or in their shortest form where the catalog takes no others. Undefined: there is no price. */
function priceText(text: string): string | undefined {
  const { amount } = readPrice(text);
  if (amount === undefined) return undefined;
  const typed = text.trim().replace(/[$,]/g, '');
  return USD_PER_MILLION.test(typed) ? typed : renderUsd(amount);
}
