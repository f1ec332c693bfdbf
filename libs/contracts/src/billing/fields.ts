import { Transform } from 'class-transformer';
import { IsISO8601, IsString, IsUUID, Length, Matches } from 'class-validator';

/** An integer of pico-USD, as a string. */
export const PICO_USD = /^\d{1,38}$/;
/** Dollars as a decimal string, exact to the pico-dollar. */
export const USD = /^\d{1,15}(\.\d{1,12})?$/;
/** The same, and below zero: what is taken away. */
export const SIGNED_USD = /^-?\d{1,15}(\.\d{1,12})?$/;
export const TOKENS_MAX = 2 ** 31 - 1;

/** A day, from its midnight in UTC, or a time with its zone: a time without one would mean another moment to everyone. */
const INSTANT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/;
const WITHOUT_NUL = /^[^\0]*$/;

/** A UUID; in lower case from here on, as the database writes it: what is compared or named by it is the same however it was sent. */
export function Id(): PropertyDecorator {
  return all(
    IsUUID(),
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.toLowerCase() : value)),
  );
}

/** Text of 1 to `lengthMax` characters that a database can store. */
export function Text(lengthMax: number): PropertyDecorator {
  return all(IsString(), Length(1, lengthMax), Matches(WITHOUT_NUL, { message: '$property must not contain the character NUL' }));
}

/** `2027-01-31` or `2027-01-31T12:00:00Z`. */
export function Instant(): PropertyDecorator {
  const message = '$property must be a date such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z';
  return all(Matches(INSTANT, { message }), IsISO8601({ strict: true }, { message }));
}

function all(...decorators: PropertyDecorator[]): PropertyDecorator {
  return (target, property) => {
    for (const decorate of decorators) decorate(target, property);
  };
}
