import { isUtf8 } from 'node:buffer';
import { closingQuote } from '#inference/closing-quote.js';
import { GatewayError } from '#inference/errors.js';
import { mayHoldLongNumbers, parseExactly } from '#inference/exact-json.js';
import { JSON_LEVELS_MAX } from '../../protocols/body-fields/body-fields.js';

/** Objects, arrays and items. The inference-proxy parses, renders and encodes each for up to a microsecond, on its main thread. */
const VALUES_MAX = 50_000;
/** Different field names. V8 creates a hidden class or a dictionary entry for each: twenty times the cost of a known name. */
const FIELD_NAMES_MAX = 20_000;
/** Values of a request for embeddings, most of them tokens: OpenAI takes 300,000 of them. They are plain numbers, and cost a fifth of others. */
export const EMBEDDING_VALUES_MAX = 310_000;

const QUOTE = 0x22;

/**
 * Parses a request body. Throws `invalid_json`, and `invalid_request` for JSON that is too expensive to process: deeper than 128 levels,
 * too many values or field names. `JSON.parse` makes `__proto__` an ordinary property.
 */
export function parseJson(body: Buffer, valuesMax?: number): unknown {
  const text = readUtf8(body);
  return parseText(text, checkShape(text, valuesMax));
}

/** Throws `invalid_json` for bytes that are not UTF-8. */
export function readUtf8(body: Buffer): string {
  if (!isUtf8(body)) throw new GatewayError('invalid_json', 'The request body is not valid UTF-8.');
  return body.toString('utf8', startsWithByteOrderMark(body) ? 3 : 0);
}

export interface JsonShape {
  /** Objects, arrays and items. Parsing time is proportional to it. */
  values: number;
  hasLongNumbers: boolean;
}

/** Parses a text after `checkShape`. Throws `invalid_json`. */
export function parseText(text: string, { hasLongNumbers }: JsonShape): unknown {
  try {
    return hasLongNumbers ? parseExactly(text) : JSON.parse(text);
  } catch (error) {
    throw new GatewayError('invalid_json', `The request body is not valid JSON: ${withoutQuote(error as SyntaxError)}.`);
  }
}

/** Returns the message of `JSON.parse` without the part of the body that it may quote: errors hold nothing of a prompt. */
function withoutQuote({ message }: SyntaxError): string {
  const [, token] = /^(Unexpected token '.+?')?.*is not valid JSON$/su.exec(message) ?? [undefined, message];
  return token ?? 'Unexpected token';
}

/** Some Windows clients write a byte order mark, which is not JSON. */
function startsWithByteOrderMark(body: Buffer): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

/**
 * Checks the limits of `parseJson` in one pass over the structure. Strings, most of a body, are skipped at the speed of `indexOf`.
 * Tolerates invalid JSON. Reports numbers with more digits than a double holds: they are rare, and parsing them exactly is slow.
 */
export function checkShape(text: string, valuesMax = VALUES_MAX): JsonShape {
  let depth = 0;
  let fields = 0;
  const shape = { values: 1, hasLongNumbers: false };
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = closingQuote(text, at + 1);
        if (end === -1) return shape;
        at = end;
        break;
      }
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > JSON_LEVELS_MAX) {
          throw new GatewayError('invalid_request', `The request body is nested deeper than ${JSON_LEVELS_MAX} levels.`);
        }
        shape.values++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
      case 0x2c: // ,
        shape.values++;
        break;
      case COLON:
        fields++;
        break;
      default: {
        const end = numberEnd(text, at);
        if (end - at >= LONG_NUMBER_LENGTH_MIN && mayHoldLongNumbers(text.slice(at, end))) shape.hasLongNumbers = true;
        if (end > at) at = end - 1;
      }
    }
  }
  if (shape.values > valuesMax) throw new GatewayError('invalid_request', `The request body holds more than ${valuesMax} values.`);
  if (fields > FIELD_NAMES_MAX) checkFieldNames(text);
  return shape;
}

/** Counts the different field names in a second pass, for bodies with many fields only. */
function checkFieldNames(text: string): void {
  const names = new Set<string>();
  let start = text.indexOf('"');
  while (start !== -1) {
    const end = closingQuote(text, start + 1);
    if (end === -1) return;
    if (isFollowedByColon(text, end + 1)) names.add(text.slice(start + 1, end));
    if (names.size > FIELD_NAMES_MAX) {
      throw new GatewayError('invalid_request', `The request body holds more than ${FIELD_NAMES_MAX} different field names.`);
    }
    start = text.indexOf('"', end + 1);
  }
}

const COLON = 0x3a;

/** Length of the shortest number beyond a double: `1e999`. */
const LONG_NUMBER_LENGTH_MIN = 5;

function numberEnd(text: string, from: number): number {
  let end = from;
  while (isNumberCharacter(text.charCodeAt(end))) end++;
  return end;
}

/** True for digits, `.`, `+`, `-`, `e` and `E`. */
function isNumberCharacter(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x2b || code === 0x2d || code === 0x65 || code === 0x45;
}

/** True when the next character after JSON white space is a colon. */
function isFollowedByColon(text: string, from: number): boolean {
  let at = from;
  while (isWhiteSpace(text.charCodeAt(at))) at++;
  return text.charCodeAt(at) === COLON;
}

function isWhiteSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}
