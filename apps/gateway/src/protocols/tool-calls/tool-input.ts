/**
 * The arguments of one call, as a model writes them, made into text that joins to a JSON object whatever they are (M-26,
 * U-21). A member of the object goes out when it is whole and valid, in the model's own text, so that numbers keep their
 * digits (T-46) and no client ever acts on half a value. Arguments that are not a JSON object, or are deeper than clients can
 * read, end with a member `_raw`: all that the model wrote. Joined, the text is the same however the arguments were cut, so a plain reply and a stream agree.
 */
export class ToolInput {
  private raw = '';
  /** The member that is being received. */
  private member = '';
  private members = 0;
  /** Open brackets, that of the object itself included. */
  private depth = 0;
  private inString = false;
  private escaped = false;
  private state: 'before' | 'inside' | 'after' | 'broken' = 'before';

  /** What can be sent now; `''` while a member is not whole. */
  push(piece: string): string {
    this.raw += piece;
    let text = '';
    let from = 0;
    for (let at = 0; at < piece.length && this.state !== 'broken'; at++) {
      const step = this.read(piece.charAt(at));
      if (step === 'object-start') from = at + 1;
      if (step === 'member-end') {
        text += this.takeMember(this.member + piece.slice(from, at));
        from = at + 1;
      }
    }
    if (this.state === 'inside') this.member += piece.slice(from);
    return text;
  }

  /** The rest, when nothing more will come. */
  end(): string {
    const start = this.members === 0 ? '{' : '';
    if (this.state === 'after') return `${start}}`;
    return `${start || ','}"_raw":${JSON.stringify(this.raw)}}`;
  }

  /** Brackets are only counted here: whether they match is seen when the member is parsed. */
  private read(char: string): 'object-start' | 'member-end' | undefined {
    if (this.inString) {
      if (this.escaped) this.escaped = false;
      else if (char === '\\') this.escaped = true;
      else if (char === '"') this.inString = false;
      return undefined;
    }
    if (this.state !== 'inside') return this.readOutside(char);
    switch (char) {
      case '"':
        this.inString = true;
        return undefined;
      case '{':
      case '[':
        if (++this.depth > DEPTH_MAX) this.state = 'broken';
        return undefined;
      case '}':
      case ']':
        if (--this.depth > 0) return undefined;
        this.state = char === '}' ? 'after' : 'broken';
        return 'member-end';
      case ',':
        return this.depth === 1 ? 'member-end' : undefined;
      default:
        return undefined;
    }
  }

  private readOutside(char: string): 'object-start' | undefined {
    if (WHITE_SPACE.test(char)) return undefined;
    if (this.state === 'before' && char === '{') {
      this.state = 'inside';
      this.depth = 1;
      return 'object-start';
    }
    this.state = 'broken';
    return undefined;
  }

  private takeMember(member: string): string {
    this.member = '';
    const isEmptyObject = this.state === 'after' && this.members === 0 && member.trim() === '';
    if (this.state === 'broken' || isEmptyObject) return '';
    if (!isMember(member)) {
      this.state = 'broken';
      return '';
    }
    return (this.members++ === 0 ? '{' : ',') + withoutHalves(member);
  }
}

/** Open brackets. Parsers have a limit for the whole body (128 in Rust's), and ours a stack. */
const DEPTH_MAX = 100;

const WHITE_SPACE = /[ \t\r\n]/;

/** In valid JSON: a pair of halves, a half, or any other escape. */
const ESCAPES = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)/g;

/** Half a character, escaped, would make all of a plain reply unreadable to strict clients (T-45). */
function withoutHalves(member: string): string {
  if (!/\\u[dD]/.test(member)) return member;
  return member.replace(ESCAPES, (written, half) => (half === undefined ? written : '\\ufffd'));
}

function isMember(text: string): boolean {
  try {
    return Object.keys(JSON.parse(`{${text}}`)).length === 1;
  } catch {
    return false;
  }
}
