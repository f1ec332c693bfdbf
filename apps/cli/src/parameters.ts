import { InvalidArgumentError } from 'commander';
import { isNetwork } from '#contracts/billing/fields.js';
import type { ModelLimit } from '#contracts/billing/model-limits.js';
import { CONCURRENCY_MAX, NAME_LENGTH_MAX, REQUESTS_PER_MINUTE_MAX, TOKENS_MAX } from '#contracts/rules/bounds.js';
import { CHILD_PATH } from '#contracts/rules/child-path.js';
import { parseSignedUsd, parseUsd } from '#money/pico-usd.js';
import { USD_EACH, USD_PER_MILLION } from '#money/price.js';
import { type IdParameter, UUID } from './complete-ids.js';
import type { Resource } from './id-lists.js';

/** An option, flag or argument of a command. Its key in the table is its name: `paymentId` is `--payment-id`. */
export interface Parameter<Value> extends IdParameter {
  kind: 'option' | 'flag' | 'argument';
  required: boolean;
  /** One letter: `-f` for `--file`. */
  short?: string;
  /** Placeholder of the value in the help: `--account <id>`. */
  placeholder: string;
  /** The valid values, where they are few. */
  choices?: readonly string[];
  description: string;
  /** @throws InvalidArgumentError (commander) that names the valid values */
  parse: (text: string) => Value;
}

/** The type of a value: its parser, and its placeholder in the help. */
export interface Kind<Value> {
  placeholder: string;
  parse: (text: string) => Value;
  resource?: Resource;
  /** The valid values, where they are few. */
  choices?: readonly string[];
}

const EXAMPLE_ID = '0190a6f0-7c1e-7000-8000-000000000001';
const INSTANT = /^(\d{4})-(\d{2})-(\d{2})(T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/;

export const accountId = makeIdKind('account');
export const projectId = makeIdKind('project');
export const keyId = makeIdKind('key');
export const scheduledPriceId = makeIdKind('price');

/** A whole id, of something whose list cannot be searched for the start of an id. */
export const wholeId: Kind<string> = {
  placeholder: 'id',
  parse: (text) => (UUID.test(text) ? text.toLowerCase() : invalid(`Must be a whole id such as ${EXAMPLE_ID}.`)),
};

/** A name, an id, or the start of one. Names are looked up, so any text may be one. */
function makeIdKind(resource: Resource): Kind<string> {
  return {
    placeholder: resource,
    resource,
    parse: (text) => {
      if (UUID.test(text)) return text.toLowerCase();
      return text.trim() !== '' && text.length <= NAME_LENGTH_MAX ? text : invalid('Must be a name, an id, or the start of an id.');
    },
  };
}

export function text(lengthMax: number, placeholder = 'text'): Kind<string> {
  return {
    placeholder,
    parse: (value) => (value.trim() !== '' && value.length <= lengthMax ? value : invalid(`Must be text of 1 to ${lengthMax} characters.`)),
  };
}

/** Texts separated by commas; an empty text is an empty list. */
export function listKind(kind: Kind<string>): Kind<string[]> {
  return { ...kind, parse: (value) => (value === '' ? [] : value.split(',').map((part) => kind.parse(part.trim()))) };
}

/** Names with values, such as `a=1; b=2`. The refusal does not repeat the text, which may hold a secret. */
export function pairs(placeholder: string): Kind<Record<string, string>> {
  return {
    placeholder,
    parse: (value) => {
      const found = value
        .split(';')
        .map((pair) => /^\s*([^=\s]+)=(.*\S)\s*$/.exec(pair) ?? invalid('Must be names with values such as a=1; b=2.'));
      return Object.fromEntries(found.map(([, name, text]) => [name, text]));
    },
  };
}

/** An IP address, or a network in CIDR notation. */
export const network: Kind<string> = {
  placeholder: 'networks',
  parse: (value) => (isNetwork(value) ? value : invalid('Must be IP addresses or networks such as 10.0.0.0/8 or 2001:db8::/32.')),
};

export const childId: Kind<string> = {
  placeholder: 'child-id',
  parse: (value) =>
    CHILD_PATH.test(value) ? value : invalid('Must be an id such as 1798761600-9f86d081884c7d65, as usage by child shows it.'),
};

/** A text, or an empty one, which clears the field. Commander has no use for null as a value. */
export function clearable(kind: Kind<string>): Kind<string> {
  return { ...kind, parse: (value) => (value === '' ? value : kind.parse(value)) };
}

/** A number, or an empty text, which becomes zero and clears the field. */
export function clearableNumber(kind: Kind<number>): Kind<number> {
  return { ...kind, parse: (value) => (value === '' ? 0 : kind.parse(value)) };
}

export function wholeNumber(min: number, max: number): Kind<number> {
  return {
    placeholder: 'n',
    parse: (value) =>
      /^\d{1,16}$/.test(value) && Number(value) >= min && Number(value) <= max
        ? Number(value)
        : invalid(`Must be a whole number from ${min} to ${max}.`),
  };
}

/** A number of percent with at most three decimals. */
export const percent: Kind<number> = {
  placeholder: 'percent',
  parse: (value) => (/^\d{1,3}(\.\d{1,3})?$/.test(value) ? Number(value) : invalid('Must be a number of percent such as 0.5.')),
};

/** Limits of projects and keys. */
export const rpm = wholeNumber(1, REQUESTS_PER_MINUTE_MAX);
export const concurrency = wholeNumber(1, CONCURRENCY_MAX);
export const tpm = wholeNumber(1, TOKENS_MAX);

/** Limits per minute by model, such as `gpt-*=tpm:100000,rpm:60; o3=rpm:5`; an empty text is an empty list. */
export const modelLimits: Kind<ModelLimit[]> = {
  placeholder: 'limits',
  parse: (value) => value.split(';').flatMap((one) => (one.trim() === '' ? [] : parseModelLimit(one.trim()))),
};

function parseModelLimit(text: string): ModelLimit {
  const [, model = '', limits = ''] = /^([^=]+)=([^=]+)$/.exec(text) ?? [];
  const found = limits.split(',').map((limit) => /^\s*(rpm|tpm):(\d{1,10})\s*$/.exec(limit));
  const of = (name: string): number | undefined => found.flatMap((match) => (match?.[1] === name ? Number(match[2]) : []))[0];
  if (model === '' || found.includes(null)) invalid('Must be limits such as gpt-*=tpm:100000,rpm:60, with ; between patterns.');
  const [requestsPerMinuteMax, tokensPerMinuteMax] = [of('rpm'), of('tpm')];
  return {
    model: model.trim(),
    ...(requestsPerMinuteMax !== undefined && { requestsPerMinuteMax }),
    ...(tokensPerMinuteMax !== undefined && { tokensPerMinuteMax }),
  };
}

/** A dollar amount above zero with up to twelve decimals, kept as text so that it stays exact. */
export const usd: Kind<string> = {
  placeholder: 'dollars',
  parse: (value) => (amountIn(value) > 0n ? value : invalid('Must be a dollar amount above zero such as 25 or 12.50.')),
};

/** A dollar amount, zero included. */
export const usdOrZero: Kind<string> = {
  placeholder: 'dollars',
  parse: (value) => {
    amountIn(value);
    return value;
  },
};

/** A dollar amount, zero included; parsed to pico-USD. */
export const usdAsPico: Kind<string> = { placeholder: 'dollars', parse: (value) => String(amountIn(value)) };

/** A dollar amount other than zero. */
export const signedUsd: Kind<string> = {
  placeholder: 'dollars',
  parse: (value) =>
    amountIn(value, parseSignedUsd) !== 0n ? value : invalid('Must be a dollar amount other than zero such as 2.50 or -2.50.'),
};

/** A price of one request or image in USD. */
export const unitPrice: Kind<string> = {
  placeholder: 'dollars',
  parse: (value) => {
    const price = plainAmount(value);
    return USD_EACH.test(price) ? price : invalid('Must be dollars below 1000000 with at most twelve decimals, such as 0.01.');
  },
};

/** A price in USD per million tokens with up to six decimals. */
export const perMillion: Kind<string> = {
  placeholder: 'dollars',
  parse: (value) => {
    const price = plainAmount(value);
    return USD_PER_MILLION.test(price) ? price : invalid('Must be dollars per million tokens with at most six decimals, such as 0.15.');
  },
};

export function oneOf<Word extends string>(words: readonly Word[], placeholder: string): Kind<Word> {
  return {
    placeholder,
    choices: words,
    parse: (value) => words.find((word) => word === value) ?? invalid(`Must be ${words.join(', ').replace(/, ([^,]+)$/, ' or $1')}.`),
  };
}

/** Several of `words`, separated by commas. */
export function someOf<Word extends string>(words: readonly Word[], placeholder: string): Kind<Word[]> {
  const word = oneOf(words, placeholder);
  return { placeholder, choices: words, parse: (value) => [...new Set(value.split(',').map(word.parse))] };
}

/** A month in UTC. */
export const month: Kind<string> = {
  placeholder: 'month',
  parse: (value) => (/^2\d{3}-(0[1-9]|1[0-2])$/.test(value) ? value : invalid('Must be a month such as 2027-01.')),
};

/** A day (its midnight in UTC) or a time with its zone; parsed to UTC. */
export const instant: Kind<string> = {
  placeholder: 'time',
  parse: (value) => {
    const [, year, month, day] =
      INSTANT.exec(value) ?? invalid('Must be a date such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z.');
    const midnight = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
    if (midnight.getUTCMonth() !== Number(month) - 1 || midnight.getUTCDate() !== Number(day)) invalid('There is no such day.');
    return new Date(value).toISOString();
  },
};

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** A length of time such as 90s, 30m, 24h or 7d; parsed to seconds. `longest` is written the same way. */
export function duration(longest: string): Kind<number> {
  const parseSeconds = (text: string): number => {
    const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
    return Number(count) * (SECONDS[unit] ?? Number.NaN);
  };
  return {
    placeholder: 'time',
    parse: (text) =>
      parseSeconds(text) <= parseSeconds(longest)
        ? parseSeconds(text)
        : invalid(`Must be a time such as 90s, 30m, 24h or 7d, at most ${longest}.`),
  };
}

/** Returns an amount as the catalog writes prices: without commas. */
function plainAmount(value: string): string {
  amountIn(value);
  return value.replace(/[$,]/g, '');
}

/** Parses an amount. The refusal tells how to write it. */
function amountIn(value: string, parse: (text: string) => bigint = parseUsd): bigint {
  try {
    return parse(value);
  } catch (error) {
    return invalid((error as RangeError).message);
  }
}

export function invalid(message: string): never {
  throw new InvalidArgumentError(message);
}

export function required<Value>(kind: Kind<Value>, description: string): Parameter<Value> {
  return { kind: 'option', required: true, description, ...kind };
}

export function optional<Value>(kind: Kind<Value>, description: string): Parameter<Value | undefined> {
  return { kind: 'option', required: false, description, ...kind };
}

/** A name or id that may be left out where only one account or project exists. */
export function defaultingToOnly(kind: Kind<string>, description: string): Parameter<string> {
  return {
    kind: 'option',
    required: false,
    defaultsToOnly: true,
    description: `${description}; may be left out where there is one`,
    ...kind,
  };
}

export function argument<Value>(kind: Kind<Value>, description: string): Parameter<Value> {
  return { kind: 'argument', required: true, description, ...kind };
}

/** Returns the name of an option: `paymentId` is `--payment-id`. */
export function kebab(name: string): string {
  return name.replace(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`);
}

export function flag(description: string): Parameter<true | undefined> {
  return { kind: 'flag', required: false, description, placeholder: '', parse: () => true };
}

/** The account that most commands are for. */
export const account = defaultingToOnly(accountId, 'name or id of the account');

/** Option of every paged list. */
export const cursor = optional(text(2_000, 'cursor'), 'cursor that the previous page showed');
