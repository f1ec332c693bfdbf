import type { Parameter } from './command.js';
import { accountId, type Kind, text } from './kinds.js';

export function required<Value>(kind: Kind<Value>, description: string): Parameter<Value> {
  return { kind: 'option', required: true, description, ...kind };
}

export function optional<Value>(kind: Kind<Value>, description: string): Parameter<Value | undefined> {
  return { kind: 'option', required: false, description, ...kind };
}

/** An id that may be left out where only one account or project exists. */
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

export function flag(description: string): Parameter<true | undefined> {
  return { kind: 'flag', required: false, description, placeholder: '', parse: () => true };
}

/** The account that most commands are for. */
export const account = defaultingToOnly(accountId, 'id of the account');

/** Option of every paged list. */
export const cursor = optional(text(2_000, 'cursor'), 'cursor that the previous page showed');
