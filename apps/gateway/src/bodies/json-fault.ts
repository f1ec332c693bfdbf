const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const WORD = /true|false|null/y;
const SPACE_CODE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = /[ \t\n\r]*/y;

/**
 * Says where and why a text that `JSON.parse` refused is not JSON: `line 3, column 14: expected a value`. The engine's own
 * messages name a position only sometimes and quote the text. Called on faulty texts only.
 */
export function findJsonFault(text: string): string {
  const { at, expected } = new Scanner(text).fault() ?? { at: text.length, expected: 'nothing more' };
  const column = at - text.slice(0, at).lastIndexOf('\n');
  const end = at >= text.length ? ', but it ends here' : '';
  return `line ${lineOf(text, at)}, column ${column}: expected ${expected}${end}.`;
}

/** Counts instead of splitting: eight million lines would be as many strings. */
function lineOf(text: string, at: number): number {
  let line = 1;
  for (let end = text.indexOf('\n'); end !== -1 && end < at; end = text.indexOf('\n', end + 1)) line++;
  return line;
}

interface Fault {
  at: number;
  expected: string;
}

class Scanner {
  private at = 0;

  constructor(private readonly text: string) {}

  /** The first fault; undefined for faultless JSON. Nesting is bounded before this is called. */
  fault(): Fault | undefined {
    const fault = this.value();
    if (fault) return fault;
    this.skip(SPACE);
    return this.at < this.text.length ? this.expected('nothing after the end of the value') : undefined;
  }

  private value(): Fault | undefined {
    this.skip(SPACE);
    switch (this.text[this.at]) {
      case '{':
        return this.items('}', () => this.member());
      case '[':
        return this.items(']', () => this.value());
      case '"':
        return this.string();
      default:
        return this.skip(NUMBER) || this.skip(WORD) ? undefined : this.expected('a value');
    }
  }

  private items(close: '}' | ']', item: () => Fault | undefined): Fault | undefined {
    this.at++;
    this.skip(SPACE);
    if (this.take(close)) return undefined;
    for (;;) {
      const fault = item();
      if (fault) return fault;
      this.skip(SPACE);
      if (this.take(close)) return undefined;
      if (!this.take(',')) return this.expected(`"," or "${close}"`);
    }
  }

  private member(): Fault | undefined {
    this.skip(SPACE);
    if (this.text[this.at] !== '"') return this.expected('a field name in double quotes');
    const fault = this.string();
    if (fault) return fault;
    this.skip(SPACE);
    return this.take(':') ? this.value() : this.expected('":"');
  }

  private string(): Fault | undefined {
    this.at++;
    while (this.at < this.text.length) {
      const code = this.text.charCodeAt(this.at);
      if (code === QUOTE) {
        this.at++;
        return undefined;
      }
      if (code < SPACE_CODE) return this.expected('a control character to be escaped');
      if (code !== BACKSLASH) this.at++;
      else if (!this.skip(ESCAPE)) return this.expected('an escape such as \\n or \\u0020');
    }
    return this.expected('a closing double quote');
  }

  private take(character: string): boolean {
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  private skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  private expected(what: string): Fault {
    return { at: this.at, expected: what };
  }
}
