import { isObject, parseJson } from './json-object.js';

/** Text before the input. White space is allowed before the positions in `SPACED`. */
const OPENING = '{"input":"';
const SPACED = new Set([0, 1, 8, 9]);

/**
 * Unwraps the input of a custom tool, which is declared upstream as a function of one string: `{"input": "…"}`. It is passed on as it
 * arrives, wherever its deltas are cut. Arguments in another form are held until the end: then they are JSON with an `input`, or are
 * taken as they are.
 */
export class WrappedInput {
  private state: 'opening' | 'input' | 'over' | 'other' = 'opening';
  private all = '';
  private matched = 0;
  /** An incomplete escape. */
  private held = '';
  /** First half of a surrogate pair. */
  private half = '';

  /** Characters that have come while nothing has been passed on. */
  get heldLength(): number {
    return this.isHeld ? this.all.length : 0;
  }

  private get isHeld(): boolean {
    return this.state === 'opening' || this.state === 'other';
  }

  /** Returns the input that the delta adds; nothing while its form is unknown. */
  push(piece: string): string {
    if (this.state === 'input') return this.read(piece);
    if (this.state === 'over') return '';
    this.all += piece;
    if (this.state === 'other') return '';
    const at = this.readOpening(piece);
    return at === undefined ? '' : this.read(piece.slice(at));
  }

  /** Returns the rest of the input at its end. Drops an incomplete escape. */
  end(): string {
    return this.isHeld ? readInput(this.all) : this.half;
  }

  /** Returns where in the delta the input begins; undefined when it does not. */
  private readOpening(piece: string): number | undefined {
    for (let at = 0; at < piece.length; at++) {
      if (piece[at] === OPENING[this.matched]) this.matched++;
      else if (!SPACED.has(this.matched) || !/[ \t\r\n]/.test(piece.charAt(at))) {
        this.state = 'other';
        return undefined;
      }
      if (this.matched === OPENING.length) {
        this.state = 'input';
        return at + 1;
      }
    }
    return undefined;
  }

  private read(piece: string): string {
    const text = this.held + piece;
    let read = this.half;
    this.held = this.half = '';
    for (let at = 0; at < text.length; ) {
      const next = findMark(text, at);
      read += text.slice(at, next);
      if (next === text.length) break;
      if (text[next] === '"') {
        this.state = 'over';
        return read;
      }
      const escaped = readEscape(text, next);
      if (escaped === undefined) {
        this.held = text.slice(next);
        break;
      }
      read += escaped.character;
      at = next + escaped.length;
    }
    if (!/[\uD800-\uDBFF]$/.test(read)) return read;
    this.half = read.slice(-1);
    return read.slice(0, -1);
  }
}

const MARK = /["\\]/g;

/** Returns the index of the next quote or backslash; the length of the text if there is none. */
function findMark(text: string, from: number): number {
  MARK.lastIndex = from;
  return MARK.test(text) ? MARK.lastIndex - 1 : text.length;
}

const SIMPLE: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Returns the escaped character; undefined when the escape is incomplete. An unknown escape stands for itself. */
function readEscape(text: string, at: number): { character: string; length: number } | undefined {
  const letter = text[at + 1];
  if (letter === undefined) return undefined;
  if (letter !== 'u') return { character: SIMPLE[letter] ?? ('"\\/'.includes(letter) ? letter : `\\${letter}`), length: 2 };
  const hex = text.slice(at + 2, at + 6);
  if (!/^[0-9a-f]*$/i.test(hex)) return { character: '\\u', length: 2 };
  return hex.length < 4 ? undefined : { character: String.fromCharCode(Number.parseInt(hex, 16)), length: 6 };
}

function readInput(text: string): string {
  const value = parseJson(text);
  return isObject(value) && typeof value.input === 'string' ? value.input : text;
}
