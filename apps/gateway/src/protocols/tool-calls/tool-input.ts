/**
 * Converts the arguments that a model writes for one call into pieces of text that always join to a JSON object. A member is released
 * when it is complete and valid, in the model's own text: numbers keep their digits, and clients never act on half a value. Arguments
 * that are not a JSON object, or are nested too deeply, end with a member `_raw` that holds all that the model wrote. The joined text
 * does not depend on how the arguments were split, so plain and streamed replies agree.
 */
export class ToolInput {
  private raw = '';
  /** The incomplete member. */
  private member = '';
  private members = 0;
  /** Open brackets, including that of the object itself. */
  private depth = 0;
  private inString = false;
  private escaped = false;
  private state: 'before' | 'inside' | 'after' | 'broken' = 'before';

  /** Returns the text that can be sent now; `''` while a member is incomplete. */
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

  /** Returns the rest of the object after the last piece. */
  end(): string {
    const start = this.members === 0 ? '{' : '';
    if (this.state === 'after') return `${start}}`;
    return `${start || ','}"_raw":${JSON.stringify(this.raw)}}`;
  }

  /** Counts brackets without matching them: `isMember` parses each member. */
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
    return (this.members++ === 0 ? '{' : ',') + replaceLoneSurrogates(member);
  }
}

/** Limit of open brackets. Other parsers limit the nesting of a whole body (128 in Rust's serde_json). */
const DEPTH_MAX = 100;

const WHITE_SPACE = /[ \t\r\n]/;

/** Matches each escape in valid JSON; group 1 is a lone surrogate. */
const ESCAPES = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|(u[dD][89a-fA-F]..)|.)/g;

/** Replaces escaped lone surrogates: strict clients reject a whole reply that contains one. */
function replaceLoneSurrogates(member: string): string {
  if (!/\\u[dD]/.test(member)) return member;
  return member.replace(ESCAPES, (match, lone) => (lone === undefined ? match : '\\ufffd'));
}

function isMember(text: string): boolean {
  try {
    return Object.keys(JSON.parse(`{${text}}`)).length === 1;
  } catch {
    return false;
  }
}
