import { SimError } from './sim-error.js';

/**
 * Instructions that a request gives to the simulator, with the kind of their values: a list has the words that a directive takes, one or
 * several separated by commas. The README explains each.
 */
export const KINDS = {
  // reply
  tokens: 'number',
  reasoning: 'number',
  think: 'text',
  say: 'text',
  refusal: 'text',
  finish: 'text',
  tags: ['close', 'both'],
  separators: 'flag',
  unicode: 'flag',
  clock: 'flag',
  // pace and shape
  ttft: 'number',
  rate: 'number',
  chunk: 'number',
  interleave: 'flag',
  split: 'flag',
  crlf: 'flag',
  keepalive: 'number',
  pad: 'number',
  headers: ['early'],
  // calls
  repeat: 'flag',
  arguments: ['twice', 'cumulated', 'braces', 'encoded'],
  // end
  nodone: 'flag',
  joined: 'flag',
  open: 'number',
  // usage
  cached: 'number',
  written: 'number',
  'written-1h': 'number',
  prompt: 'number',
  completion: 'number',
  nousage: 'flag',
  tier: 'text',
  usage: ['finish', 'every', 'total', 'zero', 'apart'],
  cache: 'flag',
  // missing abilities
  refuse: 'text',
  ignore: 'text',
  // failures
  status: 'number',
  'retry-after': 'text',
  message: 'text',
  overflow: 'flag',
  'tool-use-failed': 'flag',
  hang: 'flag-or-number',
  cut: 'number',
  error: 'number',
  close: 'number',
  times: 'number',
} as const satisfies Record<string, keyof Values | readonly string[]>;

interface Values {
  number: number;
  flag: true;
  text: string;
  'flag-or-number': number | true;
}

type DirectiveValue<Kind> = Kind extends keyof Values ? Values[Kind] : Kind extends readonly (infer Word)[] ? Word[] : never;

export type Directives = { [Name in keyof typeof KINDS]?: DirectiveValue<(typeof KINDS)[Name]> };

const DIRECTIVE = /\[\[sim(?=[\s\]])(.*?)\]\]/gs;

/** Directives that make a request fail; `times` limits how often. */
export const FAILURES = ['status', 'overflow', 'tool-use-failed', 'hang', 'cut', 'error', 'close'] as const satisfies (keyof Directives)[];

/** Parses every `[[sim …]]` of a text; later words override earlier ones. An unknown word is an error, so that no test passes by a typing error. */
export function findDirectives(text: string, defaults: Directives = {}): Directives {
  if (!text.includes('[[sim')) return defaults;
  const found: Directives = { ...defaults };
  for (const match of text.matchAll(DIRECTIVE)) Object.assign(found, parseDirectives(match[1] ?? ''));
  return found;
}

/** Returns the text without its directives. */
export function withoutDirectives(text: string): string {
  return text.replaceAll(DIRECTIVE, '');
}

/** Parses the words of one directive, separated by spaces: `name`, `name=value` or `name="any text"`. */
export function parseDirectives(words: string): Directives {
  const found: Record<string, unknown> = {};
  for (const [, name = '', quoted, bare] of words.matchAll(/([^\s=]+)(?:=(?:("(?:[^"\\]|\\.)*")|(\S*)))?/g)) {
    if (!Object.hasOwn(KINDS, name)) throw SimError.invalid(`Unknown directive '${name}'.`);
    found[name] = parseValue(name as keyof Directives, quoted === undefined ? bare : unquote(name, quoted));
  }
  return found;
}

function parseValue(name: keyof Directives, value: string | undefined): unknown {
  const kind: keyof Values | readonly string[] = KINDS[name];
  if (typeof kind !== 'string') {
    const words = value?.split(',') ?? [];
    if (words.length > 0 && words.every((word) => kind.includes(word))) return words;
    throw SimError.invalid(`Directive '${name}' takes ${kind.join(', ')}.`);
  }
  const isNumber = value !== undefined && /^\d+(\.\d+)?$/.test(value);
  if (value === undefined && (kind === 'flag' || kind === 'flag-or-number')) return true;
  if (isNumber && (kind === 'number' || kind === 'flag-or-number')) return Number(value);
  if (value !== undefined && kind === 'text') return value;
  throw SimError.invalid(`Directive '${name}' has a wrong value.`);
}

function unquote(name: string, text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw SimError.invalid(`Directive '${name}' has a wrong value.`);
  }
}
