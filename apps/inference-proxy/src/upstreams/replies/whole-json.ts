import { parseJson } from './json-object.js';

/**
 * Tells whether a growing text is one complete JSON object. Some upstreams make the parser ask after every delta, so each character is
 * read once, and the text is parsed only when its brackets close.
 */
export class WholeJson {
  private unread: string[] = [];
  private text = '';
  private depth = 0;
  private inString = false;
  private escaped = false;
  private state: 'open' | 'whole' | 'broken' = 'open';

  push(piece: string): void {
    if (this.state !== 'broken') this.unread.push(piece);
  }

  isWhole(): boolean {
    for (const piece of this.unread) {
      for (let at = 0; at < piece.length && this.state !== 'broken'; at++)
        this.read(piece.charAt(at), () => this.text + piece.slice(0, at + 1));
      this.text += piece;
    }
    this.unread = [];
    return this.state === 'whole';
  }

  private read(char: string, text: () => string): void {
    if (this.inString) {
      if (this.escaped) this.escaped = false;
      else if (char === '\\') this.escaped = true;
      else if (char === '"') this.inString = false;
    } else if (BLANK.has(char)) {
      // ignored
    } else if (this.state === 'whole' || (this.depth === 0 && char !== '{')) this.state = 'broken';
    else if (char === '"') this.inString = true;
    else if (char === '{' || char === '[') this.depth += 1;
    else if (char === '}' || char === ']') {
      this.depth -= 1;
      if (this.depth === 0) this.state = parseJson(text()) !== undefined ? 'whole' : 'broken';
    }
  }
}

const BLANK = new Set(' \t\r\n');
