import { isUtf8 } from 'node:buffer';
import { GatewayError } from '#inference/errors.js';
import { mayHoldLongNumbers, parseExactly } from '#inference/exact-json.js';
import { JSON_LEVELS_MAX } from '../protocols/body-fields.js';
import { findJsonFault } from './json-fault.js';

const VALUES_MAX = 1_000_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Parses a request body. Throws `invalid_json` that says where it is not JSON, and `invalid_request` for what is JSON but
 * would cost too much further in: more than 128 levels or a million values. Keys are data: `JSON.parse` makes `__proto__` a property
 * like any other.
 */
export function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw new GatewayError('invalid_json', 'The request body is not valid UTF-8.');
  const text = body.toString('utf8', startsWithByteOrderMark(body) ? 3 : 0);
  const { hasLongNumbers } = checkShape(text);
  try {
    return hasLongNumbers ? parseExactly(text) : JSON.parse(text);
  } catch {
    throw new GatewayError('invalid_json', `The request body is not valid JSON: ${findJsonFault(text)}`);
  }
}

/** Some clients on Windows write one, and JSON has no place for it. */
function startsWithByteOrderMark(body: Buffer): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

/**
 * One pass over the structure; strings, which are most of a body, are skipped at the speed of `indexOf`. Tolerates what is not
 * JSON. Numbers with more digits than a double holds are rare, and reading them exactly (T-46) is slow.
 */
function checkShape(text: string): { hasLongNumbers: boolean } {
  let depth = 0;
  let values = 1;
  let hasLongNumbers = false;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = stringEnd(text, at + 1);
        if (end === -1) return { hasLongNumbers };
        at = end;
        break;
      }
      case 0x7b: // {
      case 0x5b: // [
        if (++depth > JSON_LEVELS_MAX) {
          throw new GatewayError('invalid_request', `The request body is nested deeper than ${JSON_LEVELS_MAX} levels.`);
        }
        values++;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        depth--;
        break;
      case 0x2c: // ,
        values++;
        break;
      default: {
        const end = numberEnd(text, at);
        if (end - at >= LONG_NUMBER_LENGTH_MIN && mayHoldLongNumbers(text.slice(at, end))) hasLongNumbers = true;
        if (end > at) at = end - 1;
      }
    }
  }
  if (values > VALUES_MAX) throw new GatewayError('invalid_request', `The request body holds more than ${VALUES_MAX} values.`);
  return { hasLongNumbers };
}

/** `1e999` */
const LONG_NUMBER_LENGTH_MIN = 5;

function numberEnd(text: string, from: number): number {
  let end = from;
  while (isOfNumber(text.charCodeAt(end))) end++;
  return end;
}

/** Digits, `.`, `+`, `-`, `e` and `E`. */
function isOfNumber(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x2b || code === 0x2d || code === 0x65 || code === 0x45;
}

/** Where the string that begins at `from` has its closing quote, -1 for nowhere. */
function stringEnd(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return -1;
}
