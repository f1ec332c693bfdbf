import { SimError } from './sim-error.js';

/** What a request may ask of the simulator; the README explains each. Absent means "as usual". */
export interface Directives {
  // the reply
  tokens?: number;
  reasoning?: number;
  think?: string;
  say?: string;
  refusal?: string;
  finish?: string;
  unicode?: boolean;
  clock?: boolean;
  // its pace and shape
  ttft?: number;
  rate?: number;
  chunk?: number;
  interleave?: boolean;
  split?: boolean;
  crlf?: boolean;
  keepalive?: number;
  pad?: number;
  headers?: string;
  // usage
  cached?: number;
  prompt?: number;
  completion?: number;
  nousage?: boolean;
  usage?: string;
  // what it cannot do
  refuse?: string;
  ignore?: string;
  // failures
  status?: number;
  'retry-after'?: string;
  message?: string;
  overflow?: boolean;
  hang?: number | true;
  cut?: number;
  error?: number;
  close?: number;
  nodone?: boolean;
  times?: number;
}

type Kind = 'number' | 'flag' | 'text' | 'flag-or-number';

const KINDS: Record<keyof Directives, Kind> = {
  tokens: 'number',
  reasoning: 'number',
  think: 'text',
  say: 'text',
  refusal: 'text',
  finish: 'text',
  unicode: 'flag',
  clock: 'flag',
  ttft: 'number',
  rate: 'number',
  chunk: 'number',
  interleave: 'flag',
  split: 'flag',
  crlf: 'flag',
  keepalive: 'number',
  pad: 'number',
  headers: 'text',
  cached: 'number',
  prompt: 'number',
  completion: 'number',
  nousage: 'flag',
  usage: 'text',
  refuse: 'text',
  ignore: 'text',
  status: 'number',
  'retry-after': 'text',
  message: 'text',
  overflow: 'flag',
  hang: 'flag-or-number',
  cut: 'number',
  error: 'number',
  close: 'number',
  nodone: 'flag',
  times: 'number',
};

const DIRECTIVE = /\[\[sim(?=[\s\]])(.*?)\]\]/gs;

/** What makes a request fail; `times` limits how often. */
export const FAILURES = ['status', 'overflow', 'hang', 'cut', 'error', 'close'] as const satisfies (keyof Directives)[];

/** Reads every `[[sim …]]` of a text, later words over earlier ones. A word it does not know is an error: a typing slip must not pass a test. */
export function findDirectives(text: string, defaults: Directives = {}): Directives {
  if (!text.includes('[[sim')) return defaults;
  const found: Directives = { ...defaults };
  for (const match of text.matchAll(DIRECTIVE)) Object.assign(found, parseDirectives(match[1] ?? ''));
  return found;
}

/** What is left of a text for a reader who knows no directives. */
export function withoutDirectives(text: string): string {
  return text.replaceAll(DIRECTIVE, '');
}

/** Reads the words of one directive: `name`, `name=value` or `name="any text"`, apart by spaces. */
export function parseDirectives(words: string): Directives {
  const found: Record<string, unknown> = {};
  for (const [, name = '', quoted, bare] of words.matchAll(/([^\s=]+)(?:=(?:("(?:[^"\\]|\\.)*")|(\S*)))?/g)) {
    if (!Object.hasOwn(KINDS, name)) throw SimError.invalid(`Unknown directive '${name}'.`);
    found[name] = readValue(name as keyof Directives, quoted === undefined ? bare : unquote(name, quoted));
  }
  return found;
}

function readValue(name: keyof Directives, value: string | undefined): unknown {
  const kind = KINDS[name];
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
