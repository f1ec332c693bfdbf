import { isDeepStrictEqual } from 'node:util';
import { UpstreamFailure } from '../../failures/upstream-failure.js';
import { isObject, parseJson } from './json-object.js';
import { HELD_LENGTH_MAX, isDeeper, JSON_DEPTH_MAX, overLimit } from './reply-limits.js';
import { WholeJson } from './whole-json.js';

/** Times that a piece begins with the one before and is longer, after which pieces are cumulated. One time may be a nested object. */
const GROWTHS_MIN = 2;

/** One way to read the pieces. */
interface Reading {
  text: string;
  json: WholeJson;
}

/**
 * Reads the arguments of one call from its pieces. Upstreams send parts of the text, all of the text so far in each piece, the whole text
 * again in one piece or in several, and `{}` before or after it: repetition adds nothing. The methods return the text that can be passed
 * on; a piece that may be a part or a repetition is held until a later one decides. They throw `UpstreamFailure` when whole arguments are
 * followed by other ones.
 */
export class CallArguments {
  /** All pieces joined; the last one where pieces are cumulated. */
  private reading = newReading();
  /** The last piece alone, while each piece begins with the one before. */
  private latest: Reading | undefined;
  private growths = 0;
  private isCumulated = false;
  /** Text after whole arguments: the beginning of a repetition. */
  private again: Reading | undefined;
  private repeatedLength = 0;
  /** Value of the text, parsed once for all its repetitions. */
  private parsed: { text: string; value: unknown } | undefined;
  private passedLength = 0;
  /** True when the text begins with a quote: it may be encoded twice. Undefined while the text is blank. */
  private isQuoted: boolean | undefined;

  /** `raw`: the text is the input of a custom tool, not JSON. */
  constructor(private readonly raw: boolean) {}

  get isBlank(): boolean {
    return this.raw ? this.reading.text === '' : this.isQuoted === undefined;
  }

  /** True when the arguments are one complete JSON object with members. `{}` may still be replaced. */
  get isWhole(): boolean {
    return isWhole(this.reading) || (this.isUndecided && isWhole(this.latest));
  }

  /** True for `{}`, which some upstreams send before the arguments. */
  get isEmptyObject(): boolean {
    return isWhole(this.reading) && !this.reading.json.hasMembers;
  }

  /** True while the pieces repeat those before, or may do so. */
  get isRepeating(): boolean {
    return this.isCumulated || this.isUndecided;
  }

  /** True when the text is the arguments again. */
  repeats(text: string): boolean {
    const { reading } = this;
    if (this.parsed?.text !== reading.text) this.parsed = { text: reading.text, value: comparable(reading.text) };
    const { value } = this.parsed;
    return value !== undefined && isDeepStrictEqual(value, comparable(text));
  }

  /** Characters that have come and cannot be passed on yet. */
  get heldLength(): number {
    return this.reading.text.length - this.passedLength + (this.again?.text.length ?? 0);
  }

  /** Takes a part of the text, or a repetition. */
  push(piece: string): string {
    if (piece === '' || (this.isBlank && this.saysNone(piece))) return '';
    const isBlank = this.isNothing(piece);
    if (this.isEmptyObject && !isBlank) this.restart();
    if (isWhole(this.reading)) {
      this.repeat(piece);
      return '';
    }
    if (this.isBlank && !isBlank) this.isQuoted = piece.trimStart().startsWith('"');
    return this.isCumulated ? this.cumulate(piece, isBlank) : this.join(piece, isBlank);
  }

  /** Takes the whole text, which repeats or completes what has come. */
  pushWhole(text: string): string {
    const isNothing = this.isNothing(text) || this.saysNone(text) || (!this.raw && isEmptyObjectText(text));
    if (this.isBlank || this.isEmptyObject) return isNothing && this.isEmptyObject ? '' : this.push(text);
    if (isNothing) return '';
    if (this.isUndecided) this.decide(text.startsWith(this.reading.text) ? this.reading : this.latest);
    this.latest = undefined;
    const known = this.reading.text;
    if (isWhole(this.reading) && text.startsWith(known)) {
      this.repeat(text.slice(known.length));
      return this.take('');
    }
    if (text.startsWith(known)) return text.length === known.length ? this.take('') : this.take(this.append(text.slice(known.length)));
    if (known.startsWith(text) || known.trim() === text.trim() || this.repeats(text)) return this.take('');
    if (this.passedLength > 0) throw contradiction();
    this.restart();
    return this.push(text);
  }

  /** Returns the rest. Call at the end of the call. */
  end(): string {
    if (this.isUndecided) this.decide(this.likelier());
    if (this.again !== undefined && !this.isRepetition(this.again.text)) throw contradiction();
    this.again = undefined;
    const { text } = this.reading;
    const rest = this.isQuoted ? decodeTwice(text) : text.slice(this.passedLength);
    this.passedLength = text.length;
    return rest;
  }

  private isNothing(text: string): boolean {
    return this.raw ? text === '' : text.trim() === '';
  }

  /** True for the words of servers that have no arguments: JSON's null, and the empty list that PHP makes of an empty object. */
  private saysNone(text: string): boolean {
    return !this.raw && /^\s*(?:null|\[\s*\])\s*$/.test(text);
  }

  /** True when the pieces can be read in two ways. */
  private get isUndecided(): boolean {
    return this.latest !== undefined && this.latest.text.length !== this.reading.text.length;
  }

  /** True while the text may be `{}`, or is to be decoded as a whole. */
  private get isHeld(): boolean {
    if (this.raw) return false;
    return this.isQuoted === true || (this.reading.json.state !== 'broken' && !this.reading.json.hasMembers);
  }

  private join(piece: string, isBlank: boolean): string {
    const { latest } = this;
    const isFirst = this.isNothing(this.reading.text);
    const grows = latest !== undefined && piece.length > latest.text.length && piece.startsWith(latest.text);
    const mayRepeat = isBlank ? this.isUndecided : isFirst || (latest !== undefined && piece.startsWith(latest.text));
    if (!mayRepeat) this.latest = undefined;
    else if (!isBlank) {
      if (grows) this.growths += 1;
      this.latest = parseReading(piece);
    }
    const added = this.extend(piece);
    const rest = piece.slice(added.length);
    // A string with a brace can end the object in the middle of a piece: what follows shows that the piece has the text so far.
    if (grows && rest.trim() !== '' && !this.isRepetition(rest.trimStart()) && mayBeArguments(piece)) {
      this.isCumulated = true;
      this.decide(this.latest);
      return this.take('');
    }
    if (rest !== '') this.repeat(rest);
    if (isWhole(this.reading)) this.latest = undefined;
    else if (this.growths >= GROWTHS_MIN && !this.raw) {
      this.isCumulated = true;
      this.decide(this.latest);
    }
    return this.take(added);
  }

  private cumulate(piece: string, isBlank: boolean): string {
    if (isBlank) return '';
    if (!piece.startsWith(this.reading.text)) throw contradiction();
    this.reading = parseReading(piece);
    return this.take('');
  }

  /** Adds a piece to the reading up to the end of its object, and returns what it has added. */
  private extend(piece: string): string {
    const { reading } = this;
    const isOpen = !this.raw && reading.json.state === 'open';
    const added = isOpen ? piece.slice(0, reading.json.push(piece)) : piece;
    reading.text += added;
    return added;
  }

  /** Adds a piece, whose rest behind the end of the object is a repetition. Returns what it has added. */
  private append(piece: string): string {
    const added = this.extend(piece);
    if (added.length < piece.length) this.repeat(piece.slice(added.length));
    return added;
  }

  /** Reads text after whole arguments. */
  private repeat(piece: string): void {
    this.repeatedLength += piece.length;
    if (this.repeatedLength > HELD_LENGTH_MAX) throw overLimit('characters after the arguments of a call');
    let rest = piece;
    while (rest !== '') {
      if (this.again === undefined) rest = rest.trimStart();
      if (rest === '') return;
      this.again ??= newReading();
      const { json } = this.again;
      const length = json.state === 'open' ? json.push(rest) : rest.length;
      this.again.text += rest.slice(0, length);
      rest = rest.slice(length);
      if (json.state === 'open') return;
      const { text } = this.again;
      if (json.state === 'broken' && text.startsWith('"')) return; // decoded at the end
      if (!isEmptyObjectText(text) && !this.repeats(text)) throw contradiction();
      this.again = undefined;
    }
  }

  /** True when the text is a part of the arguments, or the arguments encoded once more. */
  private isRepetition(text: string): boolean {
    return this.reading.text.trimStart().startsWith(text) || this.repeats(text);
  }

  private decide(reading: Reading | undefined): void {
    if (reading !== undefined) this.reading = reading;
    this.latest = undefined;
  }

  /** Returns the reading at the end: the one that is whole, or else the cumulated one if the pieces grew. */
  private likelier(): Reading | undefined {
    if (isWhole(this.reading) || this.raw) return this.reading;
    return isWhole(this.latest) || this.growths > 0 ? this.latest : this.reading;
  }

  private restart(): void {
    this.reading = newReading();
    this.latest = this.again = this.isQuoted = undefined;
    this.growths = 0;
  }

  /** Returns what is not passed on yet. `added` is the end of the text: slicing a long text would cost its whole length. */
  private take(added: string): string {
    if (this.isUndecided || this.isHeld) return '';
    const { text } = this.reading;
    const from = this.passedLength;
    this.passedLength = text.length;
    return text.length - from === added.length ? added : text.slice(from);
  }
}

function newReading(): Reading {
  return { text: '', json: new WholeJson() };
}

function parseReading(text: string): Reading {
  const reading = newReading();
  reading.json.push(text);
  reading.text = text;
  return reading;
}

function isWhole(reading: Reading | undefined): boolean {
  return reading?.json.state === 'whole';
}

/** True for one object, or the beginning of one. */
function mayBeArguments(text: string): boolean {
  const json = new WholeJson();
  const length = json.push(text);
  return json.state === 'open' || (json.state === 'whole' && text.slice(length).trim() === '');
}

function isEmptyObjectText(text: string): boolean {
  return /^\s*\{\s*\}\s*$/.test(text);
}

/** Returns the object's text from a string that encodes it; any other text as it is. */
function decodeTwice(text: string): string {
  const value = parseJson(text);
  return typeof value === 'string' && isObject(parseJson(value)) ? value : text;
}

/** Returns the value of a text that may be encoded twice; undefined when it is no JSON, or nested too deeply to be compared. */
function comparable(text: string): unknown {
  const value = parseJson(decodeTwice(text));
  return isDeeper(value, JSON_DEPTH_MAX) ? undefined : value;
}

function contradiction(): UpstreamFailure {
  return new UpstreamFailure('broken', 'upstream_error', { detail: 'arguments of a call contradict one another' });
}
