import { parseJson } from './json-object.js';

/**
 * Finds the end of the JSON object that a growing text begins with. Some upstreams make the parser ask after every delta, so each
 * character is read once, and the text is parsed only when its brackets close.
 */
export class WholeJson {
  state: 'open' | 'whole' | 'broken' = 'open';
  /** True when the object has a member, or may have one. */
  hasMembers = false;
  private pieces: string[] = [];
  private depth = 0;
  private isClosed = false;
  private inString = false;
  private escaped = false;

  /** Reads a piece and returns how much of it belongs to the object; all of it when the text is no JSON object. */
  push(piece: string): number {
    for (let at = 0; at < piece.length && this.state === 'open'; at++) {
      this.read(piece.charCodeAt(at));
      if (this.isClosed && this.close(piece.slice(0, at + 1))) return at + 1;
    }
    if (this.state === 'open') this.pieces.push(piece);
    return piece.length;
  }

  private read(char: number): void {
    if (this.inString) {
      if (this.escaped) this.escaped = false;
      else if (char === BACKSLASH) this.escaped = true;
      else if (char === QUOTE) this.inString = false;
    } else if (char === OPEN_BRACE || char === OPEN_BRACKET) {
      if (this.depth > 0) this.hasMembers = true;
      else if (char === OPEN_BRACKET) this.state = 'broken';
      this.depth += 1;
    } else if (char === CLOSE_BRACE || char === CLOSE_BRACKET) {
      if (this.depth === 0) this.state = 'broken';
      else this.isClosed = --this.depth === 0;
    } else if (!BLANK.has(char)) {
      if (this.depth === 0) this.state = 'broken';
      this.hasMembers = true;
      this.inString = char === QUOTE;
    }
  }

  /** Ends the text with `last`. Returns true when it is JSON. */
  private close(last: string): boolean {
    const isJson = parseJson(this.pieces.join('') + last) !== undefined;
    this.state = isJson ? 'whole' : 'broken';
    this.pieces = [];
    return isJson;
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d];
const BLANK = new Set([0x20, 0x09, 0x0d, 0x0a]);
