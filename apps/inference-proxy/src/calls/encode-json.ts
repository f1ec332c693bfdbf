import { isExactNumber } from '#inference/exact-json.js';
import { replaceHalves } from '#inference/whole-characters.js';
import { EventLoopBudget } from './event-loop-budget.js';

/** Characters that are encoded between two checks of the clock, in well under a millisecond. */
const PIECE_LENGTH = 64 * 1024;

/** Punctuation between values, written as it is. */
class Syntax {
  constructor(readonly text: string) {}
}

const [COMMA, OBJECT_END, ARRAY_END, STRING_END] = [new Syntax(','), new Syntax('}'), new Syntax(']'), new Syntax('"')];

/** Returns the JSON of a body for an upstream, with U+FFFD in place of each half of a character. */
export function encodeJson(value: object): string {
  return replaceHalves(JSON.stringify(value));
}

/**
 * Returns the JSON of `value` in UTF-8, equal to that of `encodeJson`. Takes twice as long, but serves other requests meanwhile:
 * `JSON.stringify` of 8 MiB blocks them for 50 ms.
 */
export async function encodeJsonInSlices(value: object): Promise<Buffer> {
  const pieces: Buffer[] = [];
  const budget = new EventLoopBudget();
  const left: unknown[] = [value];
  let text = '';
  while (left.length > 0) {
    text += encodeNext(left.pop(), left);
    if (text.length < PIECE_LENGTH && left.length > 0) continue;
    pieces.push(Buffer.from(replaceHalves(text)));
    text = '';
    await budget.yieldWhenSpent();
  }
  return Buffer.concat(pieces);
}

/** Returns the beginning of the JSON of `next` and pushes the rest onto `left`. */
function encodeNext(next: unknown, left: unknown[]): string {
  if (next instanceof Syntax) return next.text;
  if (next instanceof StringRest) return next.encodePiece(left);
  if (typeof next === 'string' && next.length > PIECE_LENGTH) return `"${new StringRest(next, 0).encodePiece(left)}`;
  if (typeof next !== 'object' || next === null || isShort(next)) return JSON.stringify(next) ?? 'null';
  return Array.isArray(next) ? openArray(next, left) : openObject(next, left);
}

/** True for a value that is encoded in one step: a few short fields or items, without nesting. */
function isShort(value: object): boolean {
  if (isExactNumber(value)) return true;
  const items = Object.values(value);
  return items.length <= 16 && items.every((item) => (typeof item === 'string' ? item.length <= 1_024 : typeof item !== 'object'));
}

function openArray(items: readonly unknown[], left: unknown[]): string {
  left.push(ARRAY_END);
  for (let index = items.length - 1; index >= 0; index--) {
    left.push(items[index]);
    if (index > 0) left.push(COMMA);
  }
  return '[';
}

function openObject(value: object, left: unknown[]): string {
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  left.push(OBJECT_END);
  for (let index = fields.length - 1; index >= 0; index--) {
    const [name, field] = fields[index] as [string, unknown];
    left.push(field, new Syntax(`${index > 0 ? ',' : ''}${JSON.stringify(name)}:`));
  }
  return '{';
}

/** Rest of a long string whose beginning has been encoded. */
class StringRest {
  constructor(
    private readonly text: string,
    private readonly from: number,
  ) {}

  encodePiece(left: unknown[]): string {
    const cut = this.from + PIECE_LENGTH;
    const end = isPairAt(this.text, cut - 1) ? cut + 1 : cut;
    left.push(end < this.text.length ? new StringRest(this.text, end) : STRING_END);
    return JSON.stringify(this.text.slice(this.from, end)).slice(1, -1);
  }
}

function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}
