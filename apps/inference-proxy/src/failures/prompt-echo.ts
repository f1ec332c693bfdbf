import type { InferenceRequest } from '#inference/request.js';
import type { Turn } from '#inference/turn.js';
import { SharedTurns } from '../calls/shared-turns.js';

/** So many letters or digits in a row are no coincidence; a character of Chinese, Japanese or Korean says as much as three. */
const RUN = 12;
const WIDE_UNITS = 3;

/**
 * A short text with `…` in place of whatever of it also stands in the request: runs of at least twelve letters and digits, wherever
 * they are and whatever is between them, so that neither quotes nor escapes (of JSON, URLs, HTML) hide one. What is ours to name stays: tools and
 * their parameters, roles, models. Takes time in proportion to the request, whatever both say, and others have their turns meanwhile.
 */
export async function withoutEcho(text: string, request: Pick<InferenceRequest, 'turns' | 'tools' | 'output' | 'stop'>): Promise<string> {
  const echo = new Echo(text);
  const turns = new SharedTurns();
  for (const said of textsOf(request)) {
    if (echo.isKnownWhole) break;
    for (let place = 0; place < said.length; await turns.shared()) place = echo.findFrom(said, place);
  }
  return echo.found ? echo.render() : text;
}

class Echo {
  found = false;
  /** By the hash of a run: where, in units, its occurrences begin. A run is found once, so that repetition costs nothing. */
  private readonly runs = new Map<number, number[]>();
  /** Tells nearly all hashes that are in `runs` from the others, in a fraction of the time. */
  private readonly filter = new Uint8Array(1 << 12);
  private readonly units: Units;
  /** One for all texts of the request, which may have tens of thousands: its arrays take 80 kB. */
  private readonly unitsOfRequest = new Units(ROOM);
  private readonly isEcho: boolean[];

  constructor(private readonly words: string) {
    this.units = new Units(WIDE_UNITS * (words.length + 1));
    this.units.read(words, 0);
    this.isEcho = Array.from(this.units.codes, () => false);
    eachRun(this.units.codes, (run, begin) => {
      const begins = this.runs.get(run) ?? [];
      begins.push(begin);
      this.runs.set(run, begins);
      this.filter[run & 0xfff] = 1;
    });
  }

  get isKnownWhole(): boolean {
    return this.runs.size === 0;
  }

  /** Looks through a piece of a text that the request says, and returns where the next piece begins. */
  findFrom(said: string, place: number): number {
    const units = this.unitsOfRequest;
    units.keepLast(place === 0 ? 0 : RUN - 1);
    const end = units.read(said, place);
    eachRun(units.codes, (run) => {
      if (this.filter[run & 0xfff] === 1) this.mark(run);
    });
    return end;
  }

  private mark(run: number): void {
    const begins = this.runs.get(run);
    if (begins === undefined) return;
    this.runs.delete(run);
    this.found = true;
    for (const begin of begins) this.isEcho.fill(true, begin, begin + RUN);
  }

  render(): string {
    const { starts, ends } = this.units;
    const kept: string[] = [];
    let from = 0;
    for (let unit = 0; unit < starts.length; unit++) {
      if (!this.isEcho[unit]) continue;
      kept.push(this.words.slice(from, starts[unit]));
      while (this.isEcho[unit + 1]) unit += 1;
      from = ends[unit] ?? from;
    }
    return [...kept, this.words.slice(from)].join('…');
  }
}

const { imul } = Math;
const BASE = 0x01000193;
const BASE_TO_RUN = Array.from({ length: RUN }).reduce<number>((power) => imul(power, BASE), 1);

/** The hash of every run, from that of the one before it. Two runs may share one: then too much is taken out. */
function eachRun(codes: Uint16Array, visit: (hash: number, begin: number) => void): void {
  let hash = 0;
  for (let end = 0; end < codes.length; end++) {
    hash = (imul(hash, BASE) + (codes[end] ?? 0)) | 0;
    if (end >= RUN) hash = (hash - imul(codes[end - RUN] ?? 0, BASE_TO_RUN)) | 0;
    if (end >= RUN - 1) visit(hash, end - RUN + 1);
  }
}

/** So much of a long text is in hand at a time: it may have megabytes. */
const ROOM = 8_192;

/** Letters and digits, small ones for capitals. What escapes them says nothing, but for a character by its number in JSON. */
class Units {
  private count = 0;
  private readonly room: Uint16Array;
  private readonly roomForStarts: Uint32Array;
  private readonly roomForEnds: Uint32Array;

  constructor(room: number) {
    this.room = new Uint16Array(room);
    this.roomForStarts = new Uint32Array(room);
    this.roomForEnds = new Uint32Array(room);
  }

  get codes(): Uint16Array {
    return this.room.subarray(0, this.count);
  }

  /** Where each of them is in the text. */
  get starts(): Uint32Array {
    return this.roomForStarts.subarray(0, this.count);
  }

  get ends(): Uint32Array {
    return this.roomForEnds.subarray(0, this.count);
  }

  /** Reads on from a place in the text, while there is room; returns where it has come to. */
  read(text: string, from: number): number {
    let start = from;
    while (start < text.length && this.count <= this.room.length - WIDE_UNITS) {
      let code = text.charCodeAt(start);
      let end = start + 1;
      if (code === BACKSLASH || code === PERCENT || code === AMPERSAND) {
        ESCAPE.lastIndex = start;
        const escaped = ESCAPE.exec(text);
        code = Number.parseInt(escaped?.[1] ?? '0', 16);
        end = start + (escaped?.[0].length ?? 1);
      }
      const unit = code < 0x80 ? ASCII_UNITS[code] : isMark(code) ? 0 : code;
      if (unit) for (let times = code < 0x2e80 ? 1 : WIDE_UNITS; times > 0; times--) this.add(unit, start, end);
      start = end;
    }
    return start;
  }

  keepLast(count: number): void {
    const kept = Math.min(count, this.count);
    this.room.copyWithin(0, this.count - kept, this.count);
    this.count = kept;
  }

  private add(unit: number, start: number, end: number): void {
    this.room[this.count] = unit;
    this.roomForStarts[this.count] = start;
    this.roomForEnds[this.count] = end;
    this.count += 1;
  }
}

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const AMPERSAND = 0x26;
const ESCAPE = /\\+(?:u([\da-f]{4})|[\s\S])|%[\da-f]{2}|&#?\w{1,6};/iy;
const ASCII_UNITS = Uint8Array.from({ length: 0x80 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[a-z\d]/i.test(character) ? character.toLowerCase().charCodeAt(0) : 0;
});

/** Spaces, quotes and dashes beyond ASCII. */
function isMark(code: number): boolean {
  return code < 0xc0 || (code >= 0x2000 && code <= 0x206f) || (code >= 0x3000 && code <= 0x3003);
}

/** What a client has written: the texts of the conversation, and those in tools and in the form of the answer. */
function* textsOf({ turns, tools, output, stop = [] }: Parameters<typeof withoutEcho>[1]): Generator<string> {
  for (const turn of turns) yield* textsOfTurn(turn);
  for (const { description, parameters, grammar } of tools) yield* valuesIn([description, parameters, grammar?.definition]);
  if (output.kind === 'json-schema') yield* valuesIn([output.description, output.schema]);
  yield* stop;
}

function* textsOfTurn(turn: Turn): Generator<string> {
  const parts = turn.role === 'tool' ? turn.results.flatMap((result) => result.parts) : turn.parts;
  for (const part of parts) {
    if (part.type === 'tool-call') yield part.argumentsText;
    else if (part.type !== 'image') yield part.text;
  }
}

/** The texts in a schema, however deep; its fields are names. */
function* valuesIn(value: unknown): Generator<string> {
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'string') yield next;
    else if (typeof next === 'object' && next !== null) left.push(...Object.values(next));
  }
}
