import { Transform, Type } from 'class-transformer';
import {
  ArrayMaxSize,
  IsArray,
  IsISO8601,
  IsObject,
  IsOptional,
  IsString,
  IsUUID,
  isIP,
  Length,
  Matches,
  ValidateBy,
  ValidateNested,
} from 'class-validator';
import { SIGNED_USD, USD, usdFault } from '#money/pico-usd.js';

/** Integer string of pico-USD. */
export const PICO_USD = /^\d{1,38}$/;
/** Price of one token, request or image: an integer string of pico-USD up to 10¹⁸, the most that a hold can be. */
export const PRICE = /^(\d{1,18}|10{18})$/;
/** Characters of the id of a price plan. */
export const PRICE_PLAN_LENGTH_MAX = 64;

/** A day (midnight UTC), or a time with its zone, since a time without one is ambiguous. */
const INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;
const WITHOUT_NUL = /^[^\0]*$/;

/** Dollars as a decimal string, exact to the pico-dollar. The refusal tells how to write it. */
export function Usd(): PropertyDecorator {
  return Matches(USD, { message: ({ value, property }) => describeUsdFault(value, property) });
}

/** Dollars as a decimal string, negative for a debit. */
export function SignedUsd(): PropertyDecorator {
  return Matches(SIGNED_USD, { message: ({ value, property }) => describeUsdFault(value, property) });
}

function describeUsdFault(value: unknown, property: string): string {
  return `${property} is no amount. ${typeof value === 'string' ? usdFault(value) : 'Send it as a string such as "2.50".'}`;
}

/** A reply with one page of a list. */
export interface Paged {
  /** Null: this was the last page. */
  nextCursor: string | null;
}

/** A UUID of any version, or each of an array. Lower case after validation, as the database writes it, so that ids compare as strings. */
export function Id(options: { each?: boolean } = {}): PropertyDecorator {
  return all(
    IsUUID('loose', options),
    Transform(({ value }: { value: unknown }) => (Array.isArray(value) ? value.map(lowerCase) : lowerCase(value))),
  );
}

/** Text of 1 to `lengthMax` characters without NUL, which Postgres cannot store. */
export function Text(lengthMax: number): PropertyDecorator {
  return all(IsString(), Length(1, lengthMax), Matches(WITHOUT_NUL, { message: '$property must not contain the character NUL' }));
}

/** `2027-01-31` or `2027-01-31T12:00:00Z`. */
export function Instant(): PropertyDecorator {
  const message = '$property must be a date such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z';
  return all(Matches(INSTANT, { message }), IsISO8601({ strict: true }, { message }));
}

/** `2027-01-31`, a day in UTC. */
export function Day(): PropertyDecorator {
  const message = '$property must be a day such as 2027-01-31';
  return all(Matches(/^2\d{3}-\d{2}-\d{2}$/, { message }), IsISO8601({ strict: true }, { message }));
}

/** Most entries of a list that limits a key. */
const ALLOWED_MAX = 64;

/** Patterns of model ids, in which `*` stands for any characters. */
export function ModelPatterns(): PropertyDecorator {
  return all(
    IsArray(),
    ArrayMaxSize(ALLOWED_MAX),
    IsString({ each: true }),
    Length(1, 256, { each: true }),
    Matches(WITHOUT_NUL, { each: true }),
  );
}

/** IP addresses and networks in CIDR notation, such as `10.0.0.0/8` or `2001:db8::1`. */
export function Networks(): PropertyDecorator {
  const message = '$property must be IP addresses or networks such as 10.0.0.0/8 or 2001:db8::/32';
  return all(
    IsArray(),
    ArrayMaxSize(ALLOWED_MAX),
    ValidateBy({ name: 'isNetwork', validator: { validate: isNetwork } }, { each: true, message }),
  );
}

/** True for an address, or an address with the length of its prefix. */
export function isNetwork(value: unknown): boolean {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(typeof value === 'string' ? value : '') ?? [];
  if (address.includes('%') || !isIP(address)) return false;
  return prefix === undefined || Number(prefix) <= (isIP(address, 4) ? 32 : 128);
}

/** Name of the rule by which `validatePayload` knows a field that null clears. */
export const CLEARABLE = 'isClearable';

/** An optional field that null clears. In other fields null means absent. */
export function Clearable(): PropertyDecorator {
  return all(IsOptional(), ValidateBy({ name: CLEARABLE, validator: { validate: () => true } }));
}

/** An object of a message class. `ValidateNested` alone accepts a missing one. */
export function Nested(type: () => new () => object): PropertyDecorator {
  return all(IsObject(), ValidateNested(), Type(type));
}

/** An array of at most `lengthMax` objects of a message class. */
export function NestedList(type: () => new () => object, lengthMax: number): PropertyDecorator {
  return all(IsArray(), ArrayMaxSize(lengthMax), IsObject({ each: true }), ValidateNested({ each: true }), Type(type));
}

function lowerCase(value: unknown): unknown {
  return typeof value === 'string' ? value.toLowerCase() : value;
}

function all(...decorators: PropertyDecorator[]): PropertyDecorator {
  return (target, property) => {
    for (const decorate of decorators) decorate(target, property);
  };
}
